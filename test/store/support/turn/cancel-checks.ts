/** Like checks.ts, of cancels of one worker or of one run. */
import { expect } from 'vitest'
import { decodeEntry } from '../../../../src/core/history/entry.ts'
import { decodeMail, type ResultMessage } from '../../../../src/core/worker/message/message.ts'
import { completion } from '../hand-node.ts'
import type { Place } from '../place.ts'
import { cancelledEnd } from './cancel-scenes.ts'
import { type Check, lost } from './checks.ts'

/** A root that waits for two children. The first runs, the second is queued. */
export async function pair(place: Place) {
  const session = await place.create()
  const node = place.node()
  const root = await node.claim()
  const spawns = [place.child(root.worker, 1, 'first'), place.child(root.worker, 2, 'second')]
  await root.park('results:1', { spawns, pendingCalls: [1, 2] })
  const first = await node.claim()
  const [, second] = spawns
  return { session, node, root, first, second: second?.id ?? '' }
}

/** A conversation whose root has its first message in hand, and one more in its mailbox. */
export async function talk(place: Place) {
  const session = await place.create({ mode: 'conversation' })
  const node = place.node()
  const turn = await node.claim()
  await place.post(turn.worker, 'second')
  return { session, node, turn }
}

const cancel = (place: Place, worker: string, what: 'worker' | 'run' = 'worker') =>
  place.sessions.cancelWorker(worker, what, 'enough')

export async function resultsOf(place: Place, worker: string): Promise<ResultMessage[]> {
  const texts = await place.redis.lrange(`${place.workerKeys(worker).record}:mail:results`, 0, -1)
  return texts.map((text, index) => decodeMail('results', index, text).message as ResultMessage)
}

export const aCancelledWorkerCannotCommit: Check = async (place) => {
  const { first, root, second } = await pair(place)
  expect(await cancel(place, first.worker)).toEqual({ kind: 'ok' })
  expect(await first.commit({ entries: ['{}'] })).toEqual({ kind: 'cancelled' })
  const other = await root.node.claim()
  expect(other.assignment).toMatchObject({ workerId: second, purpose: 'run' })
}

export const aRootIsCancelledWithItsSession: Check = async (place) => {
  const { session, root } = await pair(place)
  expect(await cancel(place, root.worker)).toEqual({ kind: 'ok' })
  expect(await place.session(session.id)).toMatchObject({ state: 'cancelling', cancel: '"enough"' })
}

export const aCancelledSessionTakesNoCancelOfOne: Check = async (place) => {
  const { session, first } = await pair(place)
  await place.sessions.cancel(session.id, 'all')
  expect(await cancel(place, first.worker)).toEqual({ kind: 'session_finished', state: 'cancelling' })
}

export const aCancelOfOneReachesWhatOutlivesItsSession: Check = async (place) => {
  const { root } = await place.create()
  const node = place.node()
  const turn = await node.claim()
  await turn.complete({ spawns: [place.child(root, 1, 'free', { detached: true })] })
  const free = await node.claim()
  expect(await cancel(place, free.worker)).toEqual({ kind: 'ok' })
  expect(await cancel(place, root, 'run')).toEqual({ kind: 'session_finished', state: 'completed' })
  expect(await free.commit({ entries: ['{}'] })).toEqual({ kind: 'cancelled' })
}

export const whatOutlivesItsSessionLearnsWhyItIsCancelled: Check = async (place) => {
  const { id, root } = await place.create()
  const turn = await place.node().claim()
  await turn.complete({ spawns: [place.child(root, 1, 'free', { detached: true })] })
  const free = await turn.node.claim()
  await place.sessions.cancel(id, 'enough')
  expect(await turn.node.turns.cancelReason(free.assignment)).toBe('enough')
}

export const aCancelOfOneIsWrittenOnce: Check = async (place) => {
  const { first } = await pair(place)
  for (const what of ['run', 'worker'] as const) {
    await cancel(place, first.worker, what)
    const changed = await place.changed(() => cancel(place, first.worker, what))
    expect(Object.keys(changed).filter((key) => !key.startsWith('idem'))).toEqual([])
  }
}

export const aCancelThatIsSentAgainSparesTheNextRun: Check = async (place) => {
  const { node, turn } = await talk(place)
  await cancel(place, turn.worker, 'run')
  const sent = place.wire.last
  await turn.record(cancelledEnd)
  const next = await node.claim()
  expect(await place.wire.again(sent)).toEqual(['ok'])
  expect(await next.commit({ entries: ['{}'], inputsConsumed: 1 })).toMatchObject({ kind: 'ok' })
}

export const aCancelOfOneRunSparesTheNext: Check = async (place) => {
  const { node, turn } = await talk(place)
  await turn.complete({ inputsConsumed: 1 })
  // The second run is queued.
  expect(await place.sessions.cancelWorker(turn.worker, 1, 'late')).toEqual({ kind: 'rests' })
  expect((await node.claim()).assignment).toMatchObject({ run: 2, purpose: 'run' })
  expect(await place.sessions.cancelWorker(turn.worker, 2, 'enough')).toEqual({ kind: 'ok' })
}

export const aRunThatHasNotBegunIsNotCancelled: Check = async (place) => {
  const { root } = await place.create({ mode: 'conversation' })
  const node = place.node()
  await (await node.claim()).complete()
  expect(await cancel(place, root, 'run')).toEqual({ kind: 'rests' })
  await place.post(root, 'second')
  expect((await node.claim()).assignment.purpose).toBe('run')
}

export const aCountThatIsTooLargeTearsNoCancelOfOne: Check = async (place) => {
  const { first, root } = await pair(place)
  await place.redis.hset(place.workerKeys(root.worker).record, 'cancelCount', '99999999999999999999')
  const changed = await place.changed(() => cancel(place, first.worker).catch(() => null))
  expect(changed).toEqual({})
}

export const aWorkerCancelledForGoodKeepsItsMail: Check = async (place) => {
  const { first } = await pair(place)
  await cancel(place, first.worker)
  await first.record(cancelledEnd)
  expect(await place.redis.llen(`${place.workerKeys(first.worker).record}:mail:inbox`)).toBe(1)
}

export const aCancelledRunTakesItsMessage: Check = async (place) => {
  const { node, turn } = await talk(place)
  await cancel(place, turn.worker, 'run')
  await turn.record(cancelledEnd)
  const entry = decodeEntry((await place.redis.lindex(`${place.workerKeys(turn.worker).record}:log`, -1)) ?? '')
  expect(entry).toMatchObject({ type: 'cancelled', dropped: { id: 'inbox-0', mail: 'i\t-\t"first"' } })
  const next = await node.claim()
  expect(next.assignment).toMatchObject({ run: 2, purpose: 'run' })
  expect(next.assignment.mail.inbox.map(({ message }) => message.value)).toEqual(['second'])
}

export const aJobEndsWithItsCancelledRun: Check = async (place) => {
  const { id, root } = await place.create()
  const turn = await place.node().claim()
  await cancel(place, root, 'run')
  await turn.record(cancelledEnd)
  expect(await place.session(id)).toMatchObject({ state: 'cancelled' })
}

export const aJobEndsWithARunCancelledInItsQueue: Check = async (place) => {
  const { id, root } = await place.create()
  await cancel(place, root, 'run')
  await place.node().upkeep.finishCancelled()
  expect(await place.session(id)).toMatchObject({ state: 'cancelled' })
}

export const aWorkerGoesOnAfterACancelledRun: Check = async (place) => {
  const { node, turn } = await talk(place)
  await turn.park('signals', { signalsOpen: 1, timers: [{ id: 't1', ms: 600_000, valueJson: '1' }] })
  await cancel(place, turn.worker, 'run')
  await node.upkeep.finishCancelled()
  expect(await place.dump()).not.toHaveProperty('timers')
  expect((await node.claim()).assignment).toMatchObject({ run: 2, purpose: 'run' })
}

export const aMessageIsNotBlamedForACancelledRun: Check = async (place) => {
  const { root } = await place.create({ mode: 'conversation' })
  for (let start = 0; start < 5; start++) await lost(place, await place.node().claim())
  await place.redis.hset(place.workerKeys(root).record, 'lastWords', 'out of memory')
  await place.post(root, 'second')
  await cancel(place, root, 'run')
  await place.node().upkeep.finishCancelled()
  expect((await place.node().claim()).assignment).toMatchObject({ run: 2, purpose: 'run', starts: 1, lastWords: null })
}

export const theParentOfAChildThatNeverRanGetsAResult: Check = async (place) => {
  const { node, root, second } = await pair(place)
  await cancel(place, second)
  await node.upkeep.finishCancelled()
  await node.upkeep.finishCancelled()
  expect(await resultsOf(place, root.worker)).toMatchObject([
    {
      from: second,
      call: 2,
      name: 'second',
      workerKind: 'echo',
      status: 'cancelled',
      value: null,
      failure: { code: 'cancelled' },
    },
  ])
  expect((await node.claim()).worker).toBe(root.worker)
}

// Kinds with onCancel: the run that has begun is ended by a node.

const careful = (place: Place) => place.node({ withOnCancel: ['echo'] })

/** The run and the purpose of the next claim, after sweeps have finished what they may; if it gives none, the word of its answer. */
async function finished(place: Place) {
  const node = careful(place)
  await node.upkeep.finishCancelled()
  const answer = await node.ask()
  return answer.kind === 'assigned' ? `${answer.assignment.run} ${answer.assignment.purpose}` : answer.kind
}

export const aRunThatHasBegunIsEndedByANode: Check = async (place) => {
  const { id } = await place.create()
  const turn = await careful(place).claim()
  await turn.park('signals', { signalsOpen: 1, timers: [{ id: 't1', ms: 600_000, valueJson: '1' }] })
  await place.sessions.cancel(id, 'enough')
  expect(await finished(place)).toBe('1 cancelled')
}

export const aRunThatWasStartedAndNotRecordedIsEndedByANode: Check = async (place) => {
  const { id } = await place.create()
  await lost(place, await careful(place).claim())
  await place.sessions.cancel(id, 'enough')
  expect(await finished(place)).toBe('1 cancelled')
}

export const aRunThatHasNotBegunIsEndedBySweeps: Check = async (place) => {
  const { id, root } = await place.create({ mode: 'conversation' })
  const turn = await careful(place).claim()
  await turn.record({ ...completion, inputsConsumed: 1, end: undefined })
  // The turn looked for a second run, and found none.
  await turn.record({ runState: 'Idle', open: false, end: { wait: 'any', next: null } })
  await place.post(root, 'second')
  await place.sessions.cancel(id, 'enough')
  expect(await finished(place)).toBe('empty')
}

export const theSecondRunOfATurnIsEndedByANode: Check = async (place) => {
  const { id, root } = await place.create({ mode: 'conversation' })
  await place.post(root, 'second')
  const turn = await careful(place).claim()
  await turn.record({ ...completion, inputsConsumed: 1, end: undefined })
  await lost(place, turn)
  await place.sessions.cancel(id, 'enough')
  expect(await finished(place)).toBe('2 cancelled')
}

export const aLastStepThatEndsItsNodeIsIsolated: Check = async (place) => {
  const { id } = await place.create()
  for (let start = 0; start < 2; start++) await lost(place, await careful(place).claim())
  await place.sessions.cancel(id, 'enough')
  expect(await careful(place).ask({ maySuspect: false })).toEqual({ kind: 'unfit' })
  expect((await careful(place).claim()).assignment).toMatchObject({ purpose: 'cancelled', suspect: true, starts: 3 })
}

export const aPauseHoldsUpNoLastStep: Check = async (place) => {
  const { id } = await place.create()
  const turn = await careful(place).claim()
  await turn.park('signals', { signalsOpen: 1, timers: [{ id: 't1', ms: 0, valueJson: '1' }] })
  await place.sessions.pauses.pause(id, { at: 1 })
  await turn.node.upkeep.fire()
  expect(await finished(place)).toBe('empty')
  await place.sessions.cancel(id, 'enough')
  expect(await finished(place)).toBe('1 cancelled')
}

/** As a worker whose kind has become another sort: it waits without a failed attempt. */
export const aRetryEndsWithItsRun: Check = async (place) => {
  const { id, root } = await place.create()
  await (await place.node().claim()).park('retry', { end: { wait: 'retry', retryMs: 60_000, next: null } })
  expect(await place.redis.zcard(place.keys.timers)).toBe(1)
  await place.sessions.cancel(id, 'enough')
  await place.node().upkeep.finishCancelled()
  expect((await place.record(root)).status).toBe('terminal')
  expect(await place.redis.zcard(place.keys.timers)).toBe(0)
}
