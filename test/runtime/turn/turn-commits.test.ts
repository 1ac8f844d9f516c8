/** The commits of a turn, one by one: what goes out together and when, and what the turn does with each answer. */

import { performance } from 'node:perf_hooks'
import { beforeEach, describe, expect, test, vi } from 'vitest'
import { policy } from '../../../src/core/policy.ts'
import type { CommitAnswer, RunPosition } from '../../../src/core/ports/ports.ts'
import type { Refusal } from '../../../src/core/worker/refusal.ts'
import { afterRun } from '../../../src/core/worker/run-ends.ts'
import { forAny, forRetry, forSignal, goOn } from '../../../src/core/worker/wait.ts'
import { mayCall } from '../../../src/runtime/turn/permit.ts'
import { emptyStep, type Step } from '../../../src/runtime/turn/step/step.ts'
import { Turn } from '../../../src/runtime/turn/turn.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { WatchedTimers } from '../../support/time/watched-timers.ts'
import { accepted, assignmentByHand, HeldStore } from '../support/held-store.ts'

const refusal: Refusal = { reason: 'depth_exceeded', limit: 5, id: 'a child' }
const open: RunPosition = { ...afterRun(0), open: true, runState: 'ProcessingUserMessage' }
const step = (name: string, more: Partial<Step> = {}): Step => ({ ...emptyStep(open), entries: [name], ...more })
/** Resolves when everything is done that is due in this turn of the event loop. */
const soon = () => new Promise((resolve) => setImmediate(resolve))

let store: HeldStore
let noted: number[]
let turn: Turn
beforeEach(() => {
  store = new HeldStore()
  noted = []
  turn = new Turn(assignmentByHand(), { ...store.host(), noteTimer: (ms) => void noted.push(ms) })
})

const sent = () => store.commits.map(({ request }) => [...request.entries, ...(request.end ? [request.end.wait] : [])])
async function answer(place: number, with_: CommitAnswer = accepted(1)): Promise<void> {
  await waitUntil(`commit ${place} is on its way`, () => store.commits.length > place)
  store.commits[place]?.answer(with_)
  await soon()
}

describe('steps', () => {
  test('steps that are recorded while a commit is on its way go out together with the next', async () => {
    turn.add(step('a'))
    await soon()
    turn.add(step('b', { notes: [['run.started']] }))
    turn.add(step('c'))
    await soon()
    expect(sent()).toEqual([['a']])
    await answer(0)
    expect(sent()).toEqual([['a'], ['b', 'c']])
    expect(store.commits.map(({ request }) => request.event)).toEqual(['', '[["run.started"]]'])
  })

  test('steps and the end that follows them directly are one commit (TURN-3)', async () => {
    turn.add(step('a'))
    void turn.end(forAny)
    await answer(0)
    expect(sent()).toEqual([['a', 'any']])
    expect(await turn.finished).toBe('ended')
  })

  test('an input that the answer of a step names when the turn ends already is not called seen (TURN-STEERS-4)', async () => {
    turn.add(step('a'))
    await soon()
    turn.add(step('b'))
    void turn.end(forSignal)
    await answer(0, accepted(1, { steered: [{ position: 4, when: 'steer' }] }))
    expect(store.commits[1]?.request).toMatchObject({ entries: ['b'], end: { wait: 'signals' }, steersUnseenFrom: 4 })
    await answer(1)
  })

  test('steps that end a run are the last of their commit', async () => {
    turn.add(step('a', { outcome: 'completed', position: afterRun(1) }))
    turn.add(step('b'))
    void turn.end(forAny)
    await answer(0)
    await answer(1)
    expect(sent()).toEqual([['a'], ['b', 'any']])
  })

  test('lazy steps wait for the next step, and nobody waits for them', async () => {
    const host = store.host()
    turn = new Turn(assignmentByHand(), { ...host, policy: { ...host.policy, lazyCommitMs: 600_000 } })
    turn.add(step('a'), { lazy: true })
    await soon()
    await turn.settled()
    expect([sent(), turn.isSettled, turn.acknowledged]).toEqual([[], true, 0])
    turn.add(step('b'))
    expect(turn.isSettled).toBe(false)
    await answer(0)
    expect([sent(), turn.isSettled, turn.acknowledged]).toEqual([[['a', 'b']], true, 2])
  })

  test('lazy steps go out by themselves after a while, again and again', async () => {
    for (const name of ['a', 'b']) {
      turn.add(step(name), { lazy: true })
      const before = store.commits.length
      await waitUntil(`${name} is on its way`, () => store.commits.length > before)
      await answer(before)
    }
    expect(sent()).toEqual([['a'], ['b']])
  })

  test('lazy steps that did not fit into the commit before go out by themselves too', async () => {
    turn.add(step('a'))
    await soon()
    turn.add(step('b', { outcome: 'completed', position: afterRun(1) }))
    turn.add(step('c'), { lazy: true })
    await answer(0)
    await answer(1)
    await answer(2)
    expect(sent()).toEqual([['a'], ['b'], ['c']])
  })

  test('a caller waits for steps until the store has them', async () => {
    let isSettled = false
    turn.add(step('a'))
    const settling = turn.settled().then(() => {
      isSettled = true
    })
    await soon()
    expect(isSettled).toBe(false)
    await answer(0)
    await settling
    expect(turn.isSettled).toBe(true)
  })
})

describe('an end', () => {
  test('the end of a turn comes once, and nothing is recorded after it', async () => {
    void turn.end(forAny)
    void turn.end(goOn)
    void turn.release()
    turn.add(step('late'))
    expect(mayCall(turn)).toBe(false)
    await answer(0)
    await soon()
    expect(sent()).toEqual([['any']])
    expect(turn.aborted).toBe(false)
  })

  test('the end of a turn tells the node which timers it set, and of its retry', async () => {
    turn.add(
      step('a', {
        timers: [
          { id: 't', ms: 900, valueJson: '1' },
          { id: 'u', ms: 400, valueJson: '1' },
        ],
      }),
    )
    void turn.end(forRetry, 250)
    await answer(0)
    expect(noted).toEqual([400, 250])
    expect(store.commits[0]?.request.end).toMatchObject({ wait: 'retry', retryMs: 250 })
  })

  test('the end of a turn keeps what the record says then, and cannot be undone', async () => {
    turn.add(step('a'))
    await answer(0)
    void turn.end(forAny)
    await answer(1, accepted(2))
    turn.abandon('fenced')
    await turn.cancel()
    expect(turn.outcome).toEqual({ over: 'ended', aborted: false, commitId: `${turn.assignment.token}:2`, version: 2 })
  })

  test('the end of a turn leaves no timer that would keep it in memory', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    try {
      using timers = new WatchedTimers(policy.lazyCommitMs)
      turn.add(step('a'), { lazy: true })
      expect(timers.counts.left).toBe(1)
      void turn.end(forAny)
      while (store.commits.length === 0) await soon()
      store.commits[0]?.answer(accepted(1))
      await turn.finished
      expect(timers.counts.left).toBe(0)
    } finally {
      vi.useRealTimers()
    }
  })

  test('an end without a retry has no retry delay', async () => {
    void turn.end(forAny)
    await answer(0)
    expect(noted).toEqual([])
    expect(store.commits[0]?.request.end).not.toHaveProperty('retryMs')
  })

  test('the end of a turn counts how long its commits took', async () => {
    void turn.end(forAny)
    const began = performance.now()
    await waitUntil('some time has passed', () => performance.now() > began + 5)
    await answer(0)
    expect(performance.now() - turn.startedAt - turn.busyMs).toBeGreaterThan(4)
  })
})

describe('a turn that is released', () => {
  test('a released turn aborts its code first; recorded steps stand, and the worker is queued again', async () => {
    const reasons: string[] = []
    turn.whenAborted((reason) => void reasons.push(reason.message))
    turn.add(step('a'))
    void turn.release()
    void turn.release()
    turn.add(step('late'))
    expect(reasons).toEqual([`this node stops; worker ${turn.assignment.workerId} goes on elsewhere.`])
    await answer(0)
    expect(sent()).toEqual([['a', 'again']])
    expect(await turn.finished).toBe('ended')
  })

  test('a released turn is over once the commit on its way is answered (TURN-1)', async () => {
    turn.add(step('a'))
    await soon()
    void turn.release()
    await soon()
    expect(sent()).toEqual([['a']])
    await answer(0)
    expect(sent()).toEqual([['a'], ['again']])
  })

  test('a turn that is over already is not released', async () => {
    turn.abandon('fenced')
    await turn.release()
    await turn.end(forAny)
    await soon()
    expect([store.commits, turn.over]).toEqual([[], 'fenced'])
  })
})

describe('an abandoned turn', () => {
  test('an abandoned turn keeps its first reason, and commits nothing more', async () => {
    turn.add(step('a'))
    await soon()
    turn.add(step('b'))
    turn.abandon('fenced')
    turn.abandon('stale')
    await answer(0)
    expect([turn.over, sent()]).toEqual(['fenced', [['a']]])
  })

  test('an abandoned turn stays abandoned when its ending commit is answered after all (TURN-2)', async () => {
    void turn.end(forAny)
    await soon()
    turn.abandon('unreachable')
    await answer(0)
    expect([turn.over, turn.outcome.over]).toEqual(['unreachable', 'unreachable'])
  })

  test('an abandoned turn may begin nothing, and a turn whose lease has run out is abandoned when it asks', () => {
    expect(mayCall(turn)).toBe(true)
    vi.spyOn(turn.lease, 'isTrusted').mockReturnValue(false)
    expect([mayCall(turn), turn.over]).toEqual([false, 'unreachable'])
    expect(mayCall(turn)).toBe(false)
  })

  test.each<[CommitAnswer, string]>([
    [{ kind: 'fenced', claimed: { kind: 'empty' } }, 'fenced'],
    [{ kind: 'conflict', version: 7 }, 'stale'],
  ])('a turn is abandoned by the answer %j', async (given, over) => {
    turn.add(step('a'))
    await answer(0, given)
    expect(await turn.finished).toBe(over)
  })

  test('an abandoned turn leaves its slot the worker that came with the answer', async () => {
    void turn.end(forAny)
    await answer(0, { kind: 'fenced', claimed: { kind: 'empty' } })
    expect(turn.endAnswer).toEqual({ kind: 'fenced', claimed: { kind: 'empty' } })
  })
})

describe('a cancel', () => {
  test('a cancel ends the run by the recorded steps, not by steps that are not recorded yet [1.23]', async () => {
    const positions: RunPosition[] = []
    turn.whenCancelled((position) => {
      positions.push(position)
      return { ...emptyStep(afterRun(1)), entries: ['cancelled'], outcome: 'cancelled' }
    })
    const first = { ...open, calls: 1 }
    turn.add(step('a', { position: first }))
    await answer(0)
    turn.add(step('b', { position: { ...open, calls: 2 } }))
    turn.add(step('c'))
    void turn.cancel()
    await answer(1)
    expect(sent()).toEqual([['a'], ['cancelled', 'any']])
    expect(positions).toEqual([first])
  })

  test('a cancel ends the run once, and nothing is recorded after it', async () => {
    turn.whenCancelled(() => ({ ...emptyStep(afterRun(1)), entries: ['cancelled'], outcome: 'cancelled' }))
    void turn.cancel()
    void turn.cancel()
    turn.add(step('late'))
    expect(mayCall(turn)).toBe(false)
    await answer(0)
    await turn.release()
    await soon()
    expect(sent()).toEqual([['cancelled', 'any']])
  })

  test('a cancel that the answer of the store reports ends the turn, and nothing is recorded after it', async () => {
    turn.whenCancelled(() => ({ ...emptyStep(afterRun(1)), entries: ['cancelled'], outcome: 'cancelled' }))
    turn.add(step('a'))
    await answer(0, { kind: 'cancelled' })
    turn.add(step('late'))
    expect([turn.aborted, mayCall(turn)]).toEqual([true, false])
    await answer(1)
    await soon()
    expect(sent()).toEqual([['a'], ['cancelled', 'any']])
  })
})

describe('a refusal (TURN-4)', () => {
  const failing = (name: string) =>
    step(name, { ifRefused: () => ({ ...emptyStep(afterRun(1)), entries: [`${name} failed`], outcome: 'failed' }) })

  test('a refusal of several steps sends each by itself: those before the refused one stand', async () => {
    turn.add(step('first'))
    await soon()
    for (const name of ['a', 'b', 'c']) turn.add(failing(name))
    await answer(0)
    await answer(1, { kind: 'refused', refusals: [refusal] })
    await answer(2)
    await answer(3, { kind: 'refused', refusals: [refusal] })
    await answer(4)
    expect(sent()).toEqual([['first'], ['a', 'b', 'c'], ['a'], ['b'], ['b failed', 'any']])
    expect(await turn.finished).toBe('ended')
  })

  test('a refusal of the last steps of a turn leaves its end to the last of them', async () => {
    for (const name of ['a', 'b']) turn.add(failing(name))
    void turn.end(forAny)
    await answer(0, { kind: 'refused', refusals: [refusal] })
    await answer(1)
    await answer(2)
    expect(sent()).toEqual([['a', 'b', 'any'], ['a'], ['b', 'any']])
    expect(await turn.finished).toBe('ended')
  })

  test('a refusal lets nothing begin while the failing end is on its way', async () => {
    turn.add(failing('a'))
    await answer(0, { kind: 'refused', refusals: [refusal] })
    expect([sent(), turn.over, mayCall(turn)]).toEqual([[['a'], ['a failed', 'any']], undefined, false])
  })

  test('a refusal of a step that may be dropped drops it, says why, and goes on from before it', async () => {
    const told: string[] = []
    turn.add(step('a', { position: { ...open, calls: 9 }, onDropped: (error) => void told.push(error.message) }))
    await answer(0, { kind: 'refused', refusals: [refusal] })
    expect(told).toEqual([expect.stringContaining('depth')])
    expect([turn.position.calls, turn.isSettled, turn.over]).toEqual([0, true, undefined])
    void turn.end(forAny)
    await answer(1)
    expect(sent()).toEqual([['a'], ['any']])
  })

  test('a refusal of a step that may be dropped does not keep a turn from its end if the node releases it at that moment', async () => {
    turn.add(step('a', { onDropped: () => {} }))
    void turn.release()
    await answer(0, { kind: 'refused', refusals: [refusal] })
    await answer(1)
    expect(sent()).toEqual([['a', 'again'], ['again']])
    expect(await turn.finished).toBe('ended')
  })

  test('a refusal of a step that says nothing of refusals gives up the turn', async () => {
    turn.add(step('a'))
    turn.add(step('b'))
    await answer(0, { kind: 'refused', refusals: [refusal] })
    await answer(1, { kind: 'refused', refusals: [refusal] })
    expect(await turn.finished).toBe('stale')
    await soon()
    expect(sent()).toEqual([['a', 'b'], ['a']])
  })

  test('a refusal that ends the turn ends the rest of its batch too', async () => {
    for (const name of ['a', 'b']) turn.add(failing(name))
    await answer(0, { kind: 'refused', refusals: [refusal] })
    await answer(1, { kind: 'fenced', claimed: { kind: 'none' } })
    await soon()
    expect([sent(), turn.over]).toEqual([[['a', 'b'], ['a']], 'fenced'])
  })
})
