/** Short checks for the promises of this folder, which run against scripts without one guard. Each expects a promise to be kept. */

import { expect } from 'vitest'
import type { SessionLimits } from '../../../../src/core/policy.ts'
import { encodeInput, encodeResult } from '../../../../src/core/worker/message/message.ts'
import { commandsNaming } from '../../../support/redis/watched-commands.ts'
import { assigned, completion, type HandTurn } from '../hand-node.ts'
import type { Place } from '../place.ts'

export type Check = (place: Place) => Promise<void>

export const resultOf = (child: HandTurn) =>
  encodeResult({ id: child.worker, name: child.assignment.name, kind: 'echo' }, child.assignment.call ?? 0, {
    status: 'completed',
    valueJson: '1',
  })

const placeOf = async (place: Place, id: string) => (await place.record(id)).status

export async function lost(place: Place, turn: HandTurn): Promise<void> {
  await place.expireLease(turn.worker)
  await place.node({ id: 'node-b' }).sweep({ free: 0 })
}

export const aStaleNodeCannotCommit: Check = async (place) => {
  await place.create()
  const turn = await place.node().claim()
  await lost(place, turn)
  await place.node({ id: 'node-b' }).claim()
  expect(await turn.commit({ entries: ['{}'] })).toMatchObject({ kind: 'fenced' })
}

export const aLeaseTakenAwayFencesAtOnce: Check = async (place) => {
  await place.create()
  const turn = await place.node().claim()
  await lost(place, turn)
  expect(await turn.commit({ entries: ['{}'] })).toMatchObject({ kind: 'fenced' })
}

export const aStaleNodeCannotRenew: Check = async (place) => {
  await place.create()
  const node = place.node()
  const turn = await node.claim()
  await lost(place, turn)
  const renewal = { workerId: turn.worker, token: turn.assignment.token, wakeup: '', becomesBusy: false }
  expect(await node.turns.renew([renewal])).toMatchObject({ verdicts: ['fenced'] })
}

export const aCommitOnAnotherVersionIsAConflict: Check = async (place) => {
  await place.create()
  const turn = await place.node().claim()
  turn.version = 5
  expect(await turn.commit({ entries: ['{}'] })).toEqual({ kind: 'conflict', version: 0 })
}

export const aCommitSentTwiceIsOk: Check = async (place) => {
  await place.create()
  const turn = await place.node().claim()
  await turn.record({ entries: ['{}'] })
  expect(String((await place.wire.again())[0])).toMatch(/^ok,/)
  expect(await place.redis.llen(place.workerKeys(turn.worker).log)).toBe(1)
}

export const anOlderCommitSentAgainIsOk: Check = async (place) => {
  await place.create()
  const turn = await place.node().claim()
  await turn.record({ entries: ['{}'] })
  const first = place.wire.last
  await turn.record({ entries: ['{}'] })
  expect(String((await place.wire.again(first))[0])).toMatch(/^ok,/)
}

export const inputBeforeTheEndQueuesTheWorker: Check = async (place) => {
  const { root } = await place.create({ mode: 'conversation' })
  const turn = await place.node().claim()
  await place.post(root, 'second')
  await turn.complete()
  expect(await placeOf(place, root)).toBe('queued')
}

export const aResultBeforeTheEndQueuesTheParent: Check = async (place) => {
  const { root } = await place.create()
  const node = place.node()
  const turn = await node.claim()
  const spawn = place.child(root, 1, 'child')
  await turn.record({ inputsConsumed: 1, spawns: [spawn], pendingCalls: [1] })
  const child = await node.claim()
  await child.complete({ result: resultOf(child) })
  await turn.record({ pendingCalls: [1], end: { wait: `result:${spawn.id}`, next: null } })
  expect(await placeOf(place, root)).toBe('queued')
}

export const aCountOfResultsBeforeTheEndQueuesTheParent: Check = async (place) => {
  const { root } = await place.create()
  const node = place.node()
  const turn = await node.claim()
  const spawns = [1, 2].map((call) => place.child(root, call, `c${call}`))
  await turn.record({ inputsConsumed: 1, spawns, pendingCalls: [1, 2] })
  for (const _ of spawns) {
    const child = await node.claim()
    await child.complete({ result: resultOf(child) })
  }
  const { results } = place.workerKeys(root)
  const asked = await commandsNaming(place.redis, results, () =>
    turn.record({ pendingCalls: [1, 2], end: { wait: 'results:2', next: null } }),
  )
  expect(asked.map(({ name }) => name)).not.toContain('lrange')
  expect(await placeOf(place, root)).toBe('queued')
}

export const aTimerBeforeTheEndQueuesTheWorker: Check = async (place) => {
  const { root } = await place.create()
  const node = place.node()
  const turn = await node.claim()
  await turn.record({ inputsConsumed: 1, timers: [{ id: 't1', ms: 0, valueJson: '1' }], signalsOpen: 1 })
  await node.upkeep.fire()
  await turn.record({ signalsOpen: 1, end: { wait: 'signals', next: null } })
  expect(await placeOf(place, root)).toBe('queued')
}

export const aPostedMessageIsClaimed: Check = async (place) => {
  const { root } = await place.create({ mode: 'conversation' })
  const node = place.node()
  await (await node.claim()).complete()
  await place.post(root, 'second')
  expect((await node.claim()).worker).toBe(root)
}

export const aPostToAnIdleWorkerAddsAWakeup: Check = async (place) => {
  const { root } = await place.create({ mode: 'conversation' })
  await (await place.node().claim()).complete()
  await place.redis.del(place.keys.wakeups('default'))
  expect(await place.post(root, 'second')).toMatchObject({ wakeups: [{ pool: 'default' }] })
}

/** Checks how many wake-ups a post brings with so many workers queued, slots, busy wake-ups and stale ones. */
const wakeupsAre =
  (
    expected: number,
    scene: { queued?: number; slots?: number; busy?: number; stale?: number; fresh?: number },
  ): Check =>
  async (place) => {
    const { root } = await place.create({ mode: 'conversation' })
    await (await place.node().claim()).complete()
    const { keys, redis } = place
    const now = await place.now()
    await redis.del(keys.wakeups('default'))
    const fill = async (key: string, count: number | undefined, score: number) => {
      for (let number = 0; number < (count ?? 0); number++) await redis.zadd(key, score, `x${score}-${number}`)
    }
    await fill(keys.run('default'), (scene.queued ?? 1) - 1, now)
    await fill(keys.busy('default'), scene.busy, now + 60_000)
    await fill(keys.wakeups('default'), scene.stale, now - 1)
    await fill(keys.wakeups('default'), scene.fresh, now + 20_000)
    await redis.set(keys.slots('default'), scene.slots ?? 8)
    const answer = await place.post(root, 'hello')
    expect(answer.kind === 'ok' && answer.wakeups.length).toBe(expected)
  }

export const asManyWakeupsAsAreQueued = wakeupsAre(1, {})
export const noMoreWakeupsThanFreeSlots = wakeupsAre(3, { queued: 9, busy: 5 })
export const wakeupsThatAreOutCount = wakeupsAre(1, { queued: 3, fresh: 2 })
export const staleWakeupsDoNotCount = wakeupsAre(1, { stale: 4 })

export const aTurnThatLeavesAddsAWakeup: Check = async (place) => {
  await place.create()
  const turn = await place.node().claim({ wakeup: 'mine', keepWakeup: true })
  await place.create({ label: 'two' })
  await place.redis.del(place.keys.wakeups('default'))
  expect((await turn.complete()).wakeups).toHaveLength(1)
}

export const aLongTurnsWakeupIsBusy: Check = async (place) => {
  await place.create()
  const node = place.node({ slots: 4 })
  await node.sweep({ free: 0 })
  const turn = await node.claim({ wakeup: 'mine', keepWakeup: true })
  await place.create({ label: 'two' })
  await place.redis.del(place.keys.wakeups('default'))
  await place.redis.zadd(place.keys.wakeups('default'), (await place.now()) + 20_000, 'mine')
  const renewal = { workerId: turn.worker, token: turn.assignment.token, wakeup: 'mine', becomesBusy: true }
  expect((await node.turns.renew([renewal])).wakeups).toHaveLength(1)
}

export const fiveLostLeasesAreQuarantined: Check = async (place) => {
  await place.create()
  const cancelCount: string[] = []
  for (let start = 0; start < 6; start++) {
    const { workerId, purpose } = assigned(await place.node().ask())
    cancelCount.push(purpose)
    await place.expireLease(workerId)
    await place.node().sweep({ free: 0 })
  }
  expect(cancelCount).toEqual(['run', 'run', 'run', 'run', 'run', 'poison'])
}

export const aSuspectRunsAlone: Check = async (place) => {
  await place.create()
  for (let start = 0; start < 2; start++) await lost(place, await place.node().claim({ maySuspect: false }))
  expect(await place.node().ask({ maySuspect: false })).toEqual({ kind: 'unfit' })
}

export const aPostSentTwiceIsOneMessage: Check = async (place) => {
  const { root } = await place.create()
  await place.post(root, 'hello')
  await place.wire.again()
  expect(await place.redis.llen(place.workerKeys(root).inbox)).toBe(2)
}

export const aRepeatedSpawnIsTheSameChild: Check = async (place) => {
  const { root } = await place.create()
  const turn = await place.node().claim()
  const spawns = [place.child(root, 1, 'child')]
  await turn.record({ spawns, pendingCalls: [1] })
  await turn.record({ spawns, pendingCalls: [1] })
  expect(await place.redis.llen(place.workerKeys(spawns[0]?.id ?? '').inbox)).toBe(1)
}

/** A root with a child, both running, in a session that is then cancelled. */
async function cancelledPair(place: Place) {
  const { id, root } = await place.create()
  const node = place.node()
  const turn = await node.claim()
  await turn.record({
    inputsConsumed: 1,
    spawns: [place.child(root, 1, 'child'), place.child(root, 2, 'other')],
    pendingCalls: [1, 2],
  })
  const child = await node.claim()
  await place.sessions.cancel(id, 'enough')
  return { id, node, turn, child }
}

export const aCancelledRunCannotCommit: Check = async (place) => {
  const { turn } = await cancelledPair(place)
  expect(await turn.commit({ entries: ['{}'] })).toEqual({ kind: 'cancelled' })
}

export const aCancelThatWasLostHasNoEnd: Check = async (place) => {
  await place.create()
  const turn = await place.node().claim()
  expect(await turn.commit({ ...completion, outcome: 'cancelled' })).toMatchObject({ kind: 'conflict' })
}

export const aChildOfACancelledRunCannotCommit: Check = async (place) => {
  const { child } = await cancelledPair(place)
  expect(await child.commit({ entries: ['{}'] })).toEqual({ kind: 'cancelled' })
}

export const aCancelledWorkerIsNotAssignedToRun: Check = async (place) => {
  const { node } = await cancelledPair(place)
  expect((await node.claim()).assignment.purpose).toBe('cancelled')
}

export const aRenewalReportsTheCancel: Check = async (place) => {
  const { node, child } = await cancelledPair(place)
  const renewal = { workerId: child.worker, token: child.assignment.token, wakeup: '', becomesBusy: false }
  expect(await node.turns.renew([renewal])).toMatchObject({ verdicts: ['cancelled'] })
}

export const aCancelWaitsForRunningTurns: Check = async (place) => {
  const { id, node, child } = await cancelledPair(place)
  await node.upkeep.finishCancelled()
  expect(await placeOf(place, child.worker)).toBe('running')
  expect(await place.session(id)).toMatchObject({ state: 'cancelling' })
}

export const whatIsCancelledDuringAPassIsKept: Check = async (place) => {
  const { id, root } = await place.create({ mode: 'conversation' })
  const turn = await place.node().claim()
  const calls = Array.from({ length: 100 }, (_, index) => index + 1)
  const spawns = calls.map((call) => place.child(root, call, `c${call}`, { detached: call < 100 }))
  await turn.record({ inputsConsumed: 1, spawns, pendingCalls: [100] })
  await turn.complete({ inputsConsumed: 0, pendingCount: 1 })
  place.wire.afterNext(async () => void (await place.sessions.cancel(id, 'enough')))
  await place.node().upkeep.finishCancelled()
  await place.node().upkeep.finishCancelled()
  expect(await placeOf(place, spawns[0]?.id ?? '')).toBe('terminal')
}

export const childrenOfAnEndedRunAreCancelled: Check = async (place) => {
  const { root } = await place.create({ mode: 'conversation' })
  const node = place.node()
  const turn = await node.claim()
  await turn.record({ inputsConsumed: 1, spawns: [place.child(root, 1, 'child')], pendingCalls: [1] })
  await turn.complete({ inputsConsumed: 0, pendingCount: 1 })
  expect((await node.claim()).assignment.purpose).toBe('cancelled')
}

/** A commit of two children and two messages to another worker is refused for this reason. */
const refusedFor =
  (reason: string, limits: Partial<SessionLimits>): Check =>
  async (place) => {
    const { root } = await place.create({ limits })
    const turn = await place.node().claim()
    const spawns = [1, 2].map((call) => place.child(root, call, `c${call}`))
    const sends = ['a', 'b'].map((text) => ({ workerId: root, mail: encodeInput(null, JSON.stringify(text)) }))
    const wish = reason === 'mailbox_full' ? { sends } : { spawns, pendingCalls: [1, 2] }
    expect(await turn.commit(wish)).toMatchObject({ kind: 'refused', refusals: [{ reason }] })
  }

export const tooDeepIsRefused = refusedFor('depth_exceeded', { depth: 0 })
export const tooManyChildrenAreRefused = refusedFor('children_exceeded', { children: 1 })
export const tooManyWorkersAreRefused = refusedFor('workers_exceeded', { workers: 2 })
export const tooManyMessagesAreRefused = refusedFor('mailbox_full', { mailbox: 2 })

export const aFullMailboxRefusesAPost: Check = async (place) => {
  const { root } = await place.create({ limits: { mailbox: 1 } })
  expect(await place.post(root, 'second')).toMatchObject({ kind: 'mailbox_full' })
}

export const aFinishedSessionRefusesAPost: Check = async (place) => {
  const { root } = await place.create()
  await (await place.node().claim()).complete()
  expect(await place.post(root, 'late')).toMatchObject({ kind: 'session_finished' })
}

export const aResultOfAnOldRunIsDropped: Check = async (place) => {
  const { root } = await place.create({ mode: 'conversation' })
  const node = place.node()
  const turn = await node.claim()
  await place.post(root, 'second')
  await turn.record({ inputsConsumed: 1, spawns: [place.child(root, 1, 'child')], pendingCalls: [1] })
  const child = await node.claim()
  await turn.complete({ inputsConsumed: 0, pendingCount: 1 })
  await (await node.claim()).park('signals', { pendingCalls: [1] })
  await child.record({ ...completion, inputsConsumed: 1, outcome: 'cancelled', result: resultOf(child) })
  expect(await place.redis.exists(place.workerKeys(root).results)).toBe(0)
}

export const aClaimSentTwiceIsOneAssignment: Check = async (place) => {
  for (const label of ['one', 'two']) await place.create({ label })
  const node = place.node()
  const next = node.next()
  const first = assigned(await node.turns.claim(next))
  expect(assigned(await node.turns.claim(next))).toMatchObject({ workerId: first.workerId, token: first.token })
}

export const anOldClaimTakesNobody: Check = async (place) => {
  for (const label of ['one', 'two', 'three']) await place.create({ label })
  const node = place.node()
  await node.claim()
  const old = place.wire.last
  await node.claim()
  expect(await place.changed(() => place.wire.again(old))).toEqual({})
}

export const inputDoesNotCutARetryShort: Check = async (place) => {
  const { root } = await place.create()
  const turn = await place.node().claim()
  await turn.record({
    open: false,
    attempt: 1,
    runState: 'TransientFailure',
    end: { wait: 'retry', retryMs: 60_000, next: null },
  })
  await place.post(root, 'second')
  expect(await placeOf(place, root)).toBe('parked')
}

export const aLargeSessionStandsInLine: Check = async (place) => {
  const { root } = await place.create()
  const turn = await place.node().claim()
  const calls = [1, 2, 3]
  await turn.park('signals', { spawns: calls.map((call) => place.child(root, call, `c${call}`)), pendingCalls: calls })
  const queue = await place.redis.zrange(place.keys.run('default'), 0, '-1', 'WITHSCORES')
  expect(Number(queue[5]) - Number(queue[1])).toBeGreaterThanOrEqual(2000)
}

export const aDetachedChildKeepsItsSession: Check = async (place) => {
  const { root } = await place.create()
  const turn = await place.node().claim()
  const free = place.child(root, 1, 'free', { detached: true })
  await turn.complete({ spawns: [free] })
  expect(await place.sessions.prune(0)).toBe(0)
  expect(await placeOf(place, free.id)).toBe('queued')
}

export const aSweepWakesForWorkersItsNodeCanRun: Check = async (place) => {
  await place.create({ kind: 'other' })
  await place.redis.del(place.keys.wakeups('default'))
  expect((await place.node().sweep({ free: 2 })).wakeups).toEqual([])
}
