/** Renewals: which turns are renewed when, and what is done with each answer. The store's answers are given by hand. */
import { performance } from 'node:perf_hooks'
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { newId } from '../../../src/core/ids.ts'
import { type Policy, policy } from '../../../src/core/policy.ts'
import type { RenewedSteers, RenewRequest, TurnStore, Verdict } from '../../../src/core/ports/ports.ts'
import type { Wakeup } from '../../../src/core/ports/wake.ts'
import { afterRun } from '../../../src/core/worker/run-ends.ts'
import { emptyStep } from '../../../src/runtime/turn/step/step.ts'
import { Turn } from '../../../src/runtime/turn/turn.ts'
import { type Renewal, Renewer } from '../../../src/runtime/upkeep/renewer.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { assignmentByHand, HeldStore, silentLog } from '../support/held-store.ts'

interface Answer {
  readonly verdicts?: readonly Verdict[]
  readonly wakeups?: readonly Wakeup[]
  readonly trustedUntil?: number
  readonly steered?: RenewedSteers
}

/** No timer of the renewer fires within a test: it renews when it is told to. */
const rare: Policy = { ...policy, busyAfterMs: 1_000_000, renewEveryMs: 500_000 }
const longAgo = () => performance.now() - 2_000_000

interface More extends Partial<Pick<Renewal, 'wasAsked' | 'renewedAt'>> {
  readonly startedAt?: number
  readonly sessionId?: string
  readonly trustedUntil?: number
}

class Scene {
  /** The turns whose slots heard that their wake-ups are busy. */
  readonly busy: Turn[] = []
  readonly asked: RenewRequest[][] = []
  readonly sentWakeups: Wakeup[] = []
  readonly warned: string[] = []
  readonly renewer: Renewer
  answer: (requests: readonly RenewRequest[]) => Promise<Answer> | Answer = () => ({})

  constructor(times: Policy = rare) {
    const store = {
      partition: 0,
      renew: async (requests: readonly RenewRequest[]) => {
        this.asked.push([...requests])
        const { verdicts, wakeups = [], trustedUntil = 0, steered } = await this.answer(requests)
        return { verdicts: verdicts ?? requests.map(() => 'kept'), wakeups, trustedUntil, steered }
      },
    } as unknown as TurnStore
    const wake = (wakeups: readonly Wakeup[]) => void this.sentWakeups.push(...wakeups)
    const log = { ...silentLog, warn: (message: string) => void this.warned.push(message) }
    this.renewer = new Renewer(store, times, wake, log)
  }

  /** A turn that began long ago and was never renewed, but for `more`. */
  turn(more: More = {}): Turn {
    return this.renewal(more).turn
  }

  renewal({ startedAt = longAgo(), sessionId = newId(0), trustedUntil = soon(), ...more }: More = {}): Renewal {
    const host = { ...new HeldStore().host(), noteBusy: () => void this.busy.push(turn) }
    const turn = Object.assign(new Turn(assignmentByHand({ sessionId, trustedUntil }), host), { startedAt })
    return Object.assign(this.renewer.add(turn), more)
  }

  get workersAsked(): string[][] {
    return this.asked.map((requests) => requests.map(({ workerId }) => workerId))
  }
}

let scene: Scene
beforeEach(() => {
  scene = new Scene()
})
afterEach(() => scene.renewer.stop())

const soon = () => performance.now() + 60_000

describe('which turns are renewed', () => {
  test('long turns are renewed, and no short one (RENEW-1)', async () => {
    scene.turn({ startedAt: performance.now() })
    const long = scene.turn()
    await scene.renewer.runOnce()
    expect(scene.workersAsked).toEqual([[long.assignment.workerId]])
    expect(scene.asked[0]?.[0]).toMatchObject({
      token: long.assignment.token,
      wakeup: 'b',
      becomesBusy: true,
      runState: '',
    })
    expect(scene.busy).toEqual([long])
  })

  test('turns whose last renewal is old enough are renewed, and none that was just renewed', async () => {
    const old = scene.renewal({ wasAsked: true, renewedAt: longAgo() })
    scene.turn({ wasAsked: true, renewedAt: performance.now() })
    await scene.renewer.runOnce()
    await scene.renewer.runOnce()
    expect(scene.workersAsked).toEqual([[old.turn.assignment.workerId]])
    expect(performance.now() - old.renewedAt).toBeLessThan(1_000_000)
  })

  test('turns that are over, or were taken away, are not renewed', async () => {
    const over = scene.turn()
    over.abandon('fenced')
    scene.renewer.remove(scene.renewal())
    await scene.renewer.runOnce()
    expect(scene.asked).toEqual([])
    expect(scene.renewer.turns).toEqual([over])
  })

  test('all turns of a named session are renewed, however short they are', async () => {
    const session = newId(0)
    const mine = [
      scene.turn({ startedAt: performance.now(), sessionId: session }),
      scene.turn({ wasAsked: true, renewedAt: performance.now(), sessionId: session }),
    ]
    scene.turn()
    await scene.renewer.runOnce(session)
    expect(scene.workersAsked).toEqual([mine.map(({ assignment }) => assignment.workerId)])
  })

  test('turns are renewed at most a hundred at a time', async () => {
    for (let number = 0; number < 250; number++) scene.turn()
    await scene.renewer.runOnce()
    expect(scene.asked.map(({ length }) => length)).toEqual([100, 100, 50])
    const second = new Scene()
    for (let number = 0; number < 100; number++) second.turn()
    await second.renewer.runOnce()
    second.renewer.stop()
    expect(second.asked.map(({ length }) => length)).toEqual([100])
  })

  test('turns are renewed by themselves while there are any, and no longer once there are none', async () => {
    const times = { ...policy, busyAfterMs: 10, renewEveryMs: 0 }
    const [often, other] = [new Scene(times), new Scene(times)]
    const [renewal] = [often.renewal(), other.renewal()]
    await waitUntil('it was renewed again and again', () => often.asked.length > 3)
    often.renewer.remove(renewal)
    const [asked, meanwhile] = [often.asked.length, other.asked.length]
    await waitUntil('others go on', () => other.asked.length > meanwhile + 3)
    other.renewer.stop()
    expect(often.asked).toHaveLength(asked)
  })

  test('a timer renews turns only while there are any', () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const timers: number[] = []
    for (const renewal of [scene.renewal(), scene.renewal()]) {
      timers.push(vi.getTimerCount())
      scene.renewer.remove(renewal)
    }
    timers.push(vi.getTimerCount())
    expect(timers).toEqual([1, 1, 0])
  })

  test('turns are renewed one time after the other, except for a session that is named', async () => {
    const { promise, resolve } = Promise.withResolvers<Answer>()
    scene.answer = () => promise
    const session = newId(0)
    const renewal = scene.renewal({ sessionId: session })
    const first = scene.renewer.runOnce()
    renewal.renewedAt = longAgo()
    await scene.renewer.runOnce()
    expect(scene.asked).toHaveLength(1)
    const named = scene.renewer.runOnce(session)
    expect(scene.asked).toHaveLength(2)
    resolve({})
    await Promise.all([first, named])
    renewal.renewedAt = longAgo()
    await scene.renewer.runOnce()
    expect(scene.asked).toHaveLength(3)
  })
})

describe('an answer', () => {
  test('an answer that a lease was kept makes it trusted for longer, and never for shorter', async () => {
    const until = soon()
    const [short, long] = [scene.turn({ trustedUntil: until - 1 }), scene.turn({ trustedUntil: until + 1 })]
    scene.answer = () => ({ trustedUntil: until, wakeups: [{ id: 'b1-default-1', pool: 'default' }] })
    await scene.renewer.runOnce()
    const trust = [until - 0.5, until, until + 0.5].map((at) => [short.lease.isTrusted(at), long.lease.isTrusted(at)])
    expect(trust).toEqual([
      [true, true],
      [false, true],
      [false, true],
    ])
    expect([short.over, long.over, short.aborted]).toEqual([undefined, undefined, false])
    expect(scene.sentWakeups).toEqual([{ id: 'b1-default-1', pool: 'default' }])
  })

  test('an answer to a renewal names the inputs that steer the run in progress when it was asked, and none of the next run', async () => {
    const [one, two] = [scene.turn(), scene.turn()]
    const steered = new Map([0, 1].map((index) => [index, [{ position: 1, when: 'steer' } as const]]))
    scene.answer = () => {
      two.add({ ...emptyStep(afterRun(two.position.run)), outcome: 'completed' })
      return { steered, trustedUntil: soon() }
    }
    await scene.renewer.runOnce()
    expect([one, two].map(({ steers }) => steers.isWaiting)).toEqual([true, false])
  })

  test('an answer to a renewal ends the turns that it calls fenced or cancelled, and no other (RENEW-3)', async () => {
    const [kept, fenced, cancelled] = [scene.turn(), scene.turn(), scene.turn()]
    scene.answer = () => ({ verdicts: ['kept', 'fenced', 'cancelled'], trustedUntil: soon() })
    await scene.renewer.runOnce()
    expect([kept, fenced, cancelled].map(({ over, aborted }) => [over, aborted])).toEqual([
      [undefined, false],
      ['fenced', true],
      [undefined, true],
    ])
  })

  test('an answer that does not come is logged, and asked for again', async () => {
    const renewal = scene.renewal()
    scene.answer = () => Promise.reject(new Error('gone'))
    await scene.renewer.runOnce()
    expect(scene.warned).toHaveLength(1)
    expect(renewal.turn.over).toBeUndefined()
    renewal.renewedAt = longAgo()
    scene.answer = () => ({})
    await scene.renewer.runOnce()
    expect(scene.asked).toHaveLength(2)
  })

  test('a missing answer to a renewal means nothing to a node that runs nothing (RENEW-4)', async () => {
    scene = new Scene({ ...rare, busyAfterMs: 1, renewEveryMs: 1 })
    scene.renewer.remove(scene.renewal({ startedAt: performance.now() }))
    const began = performance.now()
    await waitUntil('time has passed', () => performance.now() - began > 5)
    await scene.renewer.runOnce(newId(0))
    expect(scene.warned).toEqual([])
  })

  test('an answer that is late because the event loop stood still is logged as that, and no other (RENEW-4)', async () => {
    // A whole number, so that what is added and taken away again is exact: else a fraction more than the most is late at times.
    let now = Math.ceil(performance.now())
    vi.spyOn(performance, 'now').mockImplementation(() => now)
    const mostMs = rare.busyAfterMs / 2 + rare.renewEveryMs
    const lookAfter = async (ms: number) => {
      now += ms
      await scene.renewer.runOnce(newId(0))
    }
    scene.renewer.remove(scene.renewal())
    // While it ran nothing, nothing looked.
    now += 2 * mostMs
    const [first, second] = [
      scene.turn({ trustedUntil: now + 2 * mostMs }),
      scene.turn({ trustedUntil: now + 3 * mostMs }),
    ]
    for (const ms of [0, mostMs, mostMs]) await lookAfter(ms)
    expect([first.over, second.over, scene.warned]).toEqual(['unreachable', undefined, []])
    await lookAfter(mostMs + 1)
    expect([second.over, scene.warned]).toEqual(['blocked', [expect.stringContaining('stood still for 1000.0 s')]])
  })

  test('an answer that did not come in time gives up the turn before Redis gives the worker away (RENEW-2)', async () => {
    const [late, trusted] = [scene.turn({ trustedUntil: performance.now() }), scene.turn({ trustedUntil: soon() })]
    await scene.renewer.runOnce()
    expect([late.over, trusted.over]).toEqual(['unreachable', undefined])
    expect(scene.workersAsked).toEqual([[trusted.assignment.workerId]])
  })
})
