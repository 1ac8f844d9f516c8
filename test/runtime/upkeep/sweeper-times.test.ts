/** When does a sweep come, from the first of a node to its last? The store and its Redis are real, the node around it is not. */
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Rest } from '../../../src/core/ports/upkeep.ts'
import type { Sweeper } from '../../../src/runtime/upkeep/sweeper.ts'
import { Place } from '../../store/support/place.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { poolLoads, type Sweep, sweeperOf, sweepingBy } from './sweeper-of.ts'

describe('a sweep that becomes due while another runs', () => {
  test('comes after it', async () => {
    await using place = await Place.open({ policy: { sweepEveryMs: 100 } })
    let begun = 0
    const mayEnd = Promise.withResolvers<void>()
    const held = sweepingBy(place.node().upkeep, async (sweep) => {
      // The first is that of the start.
      if (++begun === 2) await mayEnd.promise
      return sweep()
    })
    let isDue = false
    const sweeper = sweeperOf(held, place)
    await sweeper.start()
    await waitUntil('a sweep is under way', () => begun === 2)
    sweeper.dueIn(0)
    // Timers fire in the order of their time: this one after the sweep that is due.
    setTimeout(() => {
      isDue = true
    }, 20)
    await waitUntil('the next one is due', () => isDue)
    expect(begun).toBe(2)
    mayEnd.resolve()
    await waitUntil('it is made', () => begun > 2)
    await sweeper.stop()
  })
})

describe('the first sweep', () => {
  test('the first sweep is part of the start, which fails if the sweep fails', async () => {
    await using place = await Place.open({ policy: { sweepEveryMs: 600_000 } })
    const { upkeep } = place.node()
    const sweeper = sweeperOf(upkeep, place)
    await sweeper.start()
    expect(await place.inspect.nodes()).toHaveLength(1)
    await sweeper.stop()
    const away = sweepingBy(upkeep, () => Promise.reject(new Error('Redis is away')))
    await expect(sweeperOf(away, place).start()).rejects.toThrow('Redis is away')
  })
})

describe('a sweep that becomes due', () => {
  test('a sweep that becomes due runs then, even if others are planned for later, and they do not delay it', async () => {
    await using place = await Place.open({ policy: { sweepEveryMs: 600_000 } })
    let sweeps = 0
    const counting = sweepingBy(place.node().upkeep, (sweep) => {
      sweeps++
      return sweep()
    })
    const sweeper = sweeperOf(counting, place)
    await sweeper.start()
    sweeper.dueIn(20)
    sweeper.dueIn(500_000)
    sweeper.dueIn(550_000)
    await waitUntil('it is made', () => sweeps > 1)
    expect(sweeps).toBe(2)
    await sweeper.stop()
  })

  test('a sweep that becomes due soon after another is not delayed by the end of that one', async () => {
    await using place = await Place.open({ policy: { sweepEveryMs: 600_000 } })
    const mayEnd = Promise.withResolvers<void>()
    let sweeps = 0
    const held = sweepingBy(place.node().upkeep, async (sweep) => {
      if (++sweeps === 2) await mayEnd.promise
      return sweep()
    })
    const sweeper = sweeperOf(held, place)
    await sweeper.start()
    sweeper.dueIn(0)
    await waitUntil('a sweep is under way', () => sweeps === 2)
    sweeper.dueIn(200)
    mayEnd.resolve()
    await waitUntil('the next one is made', () => sweeps > 2)
    expect(sweeps).toBe(3)
    await sweeper.stop()
  })
})

describe('the end of a sweeper', () => {
  test('the sweeper of a node that leaves has no slots, runs once after the sweep in hand, and replaces those that are due', async () => {
    await using place = await Place.open({ policy: { sweepEveryMs: 600_000 } })
    const { upkeep } = place.node()
    const mayEnd = Promise.withResolvers<void>()
    const told: unknown[] = []
    const sweep: Sweep = async (slots, poolLoads, leaving) => {
      told.push([slots, poolLoads.map(({ free }) => free), leaving])
      if (told.length === 2) await mayEnd.promise
      return upkeep.sweep(slots, poolLoads, leaving)
    }
    const sweeper = sweeperOf({ ...sweepingBy(upkeep, (run) => run()), sweep }, place, { slots: 3, poolLoads })
    await sweeper.start()
    sweeper.dueIn(0)
    await waitUntil('a sweep is under way', () => told.length === 2)
    sweeper.dueIn(0)
    const due = Promise.withResolvers<void>()
    // Timers fire in the order of their time: this one after the sweep that is due.
    setTimeout(due.resolve, 20)
    await due.promise
    const stopped = [sweeper.stop(), sweeper.stop()]
    mayEnd.resolve()
    await Promise.all(stopped)
    expect(told).toEqual([
      [3, [2], false],
      [3, [2], false],
      [0, [0], true],
    ])
    expect(await place.inspect.nodes()).toEqual([])
  })
})

describe('a timer that is due in a month', () => {
  const warnings: Error[] = []
  const keep = (warning: Error) => void warnings.push(warning)
  beforeEach(() => void process.on('warning', keep))
  afterEach(() => void process.off('warning', keep))

  test('a timer that is due in a month does not make sweeps come before their time', async () => {
    await using place = await Place.open({ policy: { sweepEveryMs: 50 } })
    const node = place.node()
    const { root } = await place.create()
    const turn = await node.claim()
    const month = 30 * 24 * 3_600_000
    await turn.commit({
      inputsConsumed: 1,
      open: true,
      signalsOpen: 1,
      timers: [{ id: 't', ms: month, valueJson: '1' }],
    })
    expect(await place.redis.zscore(place.keys.timers, `${root}:t`)).not.toBeNull()
    let [sweeps, atOnce, most] = [0, 0, 0]
    const counting = sweepingBy(node.upkeep, (sweep) => {
      sweeps++
      most = Math.max(most, ++atOnce)
      return sweep().finally(() => atOnce--)
    })
    const sweeper = sweeperOf(counting, place)
    await sweeper.start()
    await waitUntil('some sweeps were made', () => sweeps > 5)
    await sweeper.stop()
    expect([most, warnings]).toEqual([1, []])
  })
})

test('a sweep that found nothing to do is followed only by short looks, ever more rarely, until there is work (SWEEP-5)', async () => {
  await using place = await Place.open({ policy: { sweepEveryMs: 20 } })
  const { upkeep } = place.node()
  await upkeep.announce(1, [])
  const asked: string[] = []
  const store = new Proxy(upkeep, {
    get(target, name) {
      const member = Reflect.get(target, name) as unknown
      if (typeof member !== 'function') return member
      return (...args: unknown[]) => {
        asked.push(String(name))
        return Reflect.apply(member, target, args) as unknown
      }
    },
  })
  const sweeper = sweeperOf(store, place, { poolLoads, carry: () => void asked.push('carry') })
  await sweeper.start()
  await waitUntil('it has looked twice', () => asked.filter((name) => name === 'rest').length > 1)
  const all = ['carry', 'sweep', 'kindPools', 'fire', 'finishCancelled', 'carry', 'rest', 'carry', 'rest']
  expect(asked.slice(0, all.length)).toEqual(all)
  await place.create({ label: 'work' })
  asked.length = 0
  await waitUntil('it sweeps', () => asked.includes('sweep'))
  await sweeper.stop()
})

const nothing: Rest = { isPaused: false, kinds: '', dueInMs: null }

describe('short looks', () => {
  /** Odd, so that timers of others have no multiple of it, and are not counted. */
  const everyMs = 37

  /** A sweeper whose times are not random. The first `looks` looks find nothing, and the next one finds work. `onPlan` is told in how many ms it plans each sweep. */
  async function looking(place: Place, looks: number, onPlan: (ms: number, sweeper: Sweeper) => void) {
    const { upkeep } = place.node()
    await upkeep.announce(1, [])
    let looked = 0
    vi.spyOn(upkeep, 'rest').mockImplementation(async () => (looked++ < looks ? nothing : null))
    vi.spyOn(Math, 'random').mockReturnValue(0.5)
    const sweeper = sweeperOf(upkeep, place, { poolLoads })
    const { setTimeout: real } = globalThis
    vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms: number) => {
      const timer = real(run, ms)
      if (ms >= everyMs && ms % everyMs < 2 && ms < 10 * everyMs) onPlan(ms, sweeper)
      return timer
    }) as typeof setTimeout)
    await sweeper.start()
    return sweeper
  }

  test('short looks come ever more rarely, five times at most, and a sweep that they bring at the usual time (SWEEP-5)', async () => {
    await using place = await Place.open({ policy: { sweepEveryMs: everyMs } })
    const planned: number[] = []
    const sweeper = await looking(place, 5, (ms) => void planned.push(ms))
    await waitUntil('it has swept', () => planned.length > 6)
    expect(planned.slice(0, 7).map((ms) => ms / everyMs)).toEqual([1, 2, 3, 4, 5, 5, 1])
    await sweeper.stop()
  })

  test('a slot that was woken makes the next sweep come at its usual time (SWEEP-5)', async () => {
    await using place = await Place.open({ policy: { sweepEveryMs: everyMs } })
    const planned: number[] = []
    const sweeper = await looking(place, 4, (ms, one) => {
      planned.push(ms)
      if (ms === 5 * everyMs) queueMicrotask(() => one.stir())
    })
    await waitUntil('it was stirred', () => planned.length > 5)
    expect(planned.slice(4, 6)).toEqual([5 * everyMs, everyMs + 1])
    await sweeper.stop()
  })
})

test('a node that rests still sweeps every thirty times, whatever there is to do (SWEEP-5)', async () => {
  await using place = await Place.open({ policy: { sweepEveryMs: 1_000 } })
  const { upkeep } = place.node()
  await upkeep.announce(1, [])
  vi.spyOn(upkeep, 'rest').mockResolvedValue(nothing)
  const sweeps = vi.spyOn(upkeep, 'sweep')
  const sweeper = sweeperOf(upkeep, place, { poolLoads })
  const clock = vi.spyOn(performance, 'now')
  const sweepsAt = async (ms: number) => {
    clock.mockReturnValue(ms)
    await sweeper.runOnce()
    return sweeps.mock.calls.length
  }
  expect([await sweepsAt(1_000), await sweepsAt(30_999), await sweepsAt(31_000), await sweepsAt(31_001)]).toEqual([
    1, 1, 2, 2,
  ])
})

test('a short look learns of a pause, of kinds and of the next timer, and changed slots make the next one a sweep (SWEEP-5)', async () => {
  await using place = await Place.open({ policy: { sweepEveryMs: 60_000 } })
  const { upkeep } = place.node()
  await upkeep.announce(1, [])
  const sweeps = vi.spyOn(upkeep, 'sweep')
  const rests = vi.spyOn(upkeep, 'rest').mockResolvedValue({ isPaused: true, kinds: 'others', dueInMs: 40_000 })
  const [learnPause, learnKinds] = [vi.fn<(isPaused: boolean) => void>(), vi.fn<() => void>()]
  const sweeper = sweeperOf(upkeep, place, { poolLoads, learnPause, learnKinds })
  await sweeper.start()
  learnKinds.mockClear()
  using scheduled = vi.spyOn(globalThis, 'setTimeout')
  await sweeper.runOnce()
  expect([rests.mock.calls.length, sweeps.mock.calls.length]).toEqual([1, 1])
  expect([learnPause.mock.lastCall, learnKinds.mock.calls.length]).toEqual([[true], 1])
  expect(scheduled.mock.calls.map(([, ms]) => ms)).toContain(40_001)
  sweeper.tellOfSlots()
  expect(scheduled.mock.calls.map(([, ms]) => ms)).toContain(1)
  await waitUntil('it sweeps', () => sweeps.mock.calls.length === 2)
  await sweeper.runOnce()
  expect([rests.mock.calls.length, sweeps.mock.calls.length]).toEqual([2, 2])
  await sweeper.stop()
})

test('a node that drains makes no short looks, so that all see how many turns it has left (SWEEP-5)', async () => {
  await using place = await Place.open({ policy: { sweepEveryMs: 60_000 } })
  const { upkeep } = place.node()
  await upkeep.announce(1, [])
  const rests = vi.spyOn(upkeep, 'rest')
  let left: number | null = null
  const sweeper = sweeperOf(upkeep, place, { poolLoads, turnsLeft: () => left })
  for (left of [null, null, 2, 0]) await sweeper.runOnce()
  expect(rests).toHaveBeenCalledTimes(1)
})

test('a sweep and a short look plan the next one for the time at which a timer becomes due', async () => {
  await using place = await Place.open({ policy: { sweepEveryMs: 20 } })
  const { upkeep } = place.node()
  await upkeep.announce(1, [])
  const fire = upkeep.fire.bind(upkeep)
  vi.spyOn(upkeep, 'fire').mockImplementation(async (told) => ({ ...(await fire(told)), dueInMs: 71 }))
  vi.spyOn(upkeep, 'rest')
    .mockResolvedValueOnce(null)
    .mockResolvedValue({ ...nothing, dueInMs: 81 })
  using scheduled = vi.spyOn(globalThis, 'setTimeout')
  const sweeper = sweeperOf(upkeep, place, { poolLoads })
  await sweeper.start()
  const plans = (ms: number) => scheduled.mock.calls.some(([, planned]) => planned === ms)
  await waitUntil('a sweep and a short look have planned', () => plans(72) && plans(82))
  expect([plans(71), plans(81)]).toEqual([false, false])
  await sweeper.stop()
})
