/** Checks of what may not happen in a pause; a mutant of each guard fails here. */
import { expect } from 'vitest'
import { newId } from '../../../../src/core/ids.ts'
import type { HandTurn } from '../hand-node.ts'
import type { Place } from '../place.ts'
import { cancelledEnd, states } from '../turn/cancel-scenes.ts'
import type { Check } from '../turn/checks.ts'

export const pauseNote = { why: 'look first', by: 'ada', at: 1 }
export const resumedEvent = '[["session.resumed",{}]]'

const lineOf = (place: Place) => place.redis.zrange(place.keys.run('default'), '0', '-1')
const unknown = '01890a5d-ac96-774b-bcce-b302099a8000'

export const renewalOf = ({ worker, assignment: { token } }: HandTurn, isQuiet = false) => ({
  workerId: worker,
  token,
  wakeup: '',
  becomesBusy: false,
  isQuiet,
})

/** A root with three children in the run queue, and the turn of the root that goes on. */
export async function withChildren(place: Place) {
  const session = await place.create()
  const node = place.node()
  const root = await node.claim()
  const spawns = [1, 2, 3].map((call) => place.child(root.worker, call, `c${call}`))
  await root.record({ inputsConsumed: 1, spawns, pendingCalls: [1, 2, 3] })
  return { session, node, root, spawns }
}

export const noWorkerOfAPausedSessionIsClaimed: Check = async (place) => {
  const { session, node } = await withChildren(place)
  await place.sessions.pauses.pause(session.id, pauseNote)
  expect(await node.ask()).toMatchObject({ kind: 'empty' })
}

export const whoWasHeldReturnsToItsPlace: Check = async (place) => {
  const { session, node, spawns } = await withChildren(place)
  const before = await lineOf(place)
  await place.sessions.pauses.pause(session.id, pauseNote)
  await node.ask()
  expect(await lineOf(place)).toEqual([])
  await place.redis.del(place.keys.wakeups('default'))
  const answer = await place.sessions.pauses.resume(session.id, resumedEvent)
  expect(await lineOf(place)).toEqual(before)
  expect(answer).toMatchObject({ kind: 'ok', wakeups: [{ pool: 'default' }] })
  for (const { id } of spawns) expect((await node.claim()).worker).toBe(id)
}

export const aCommitLearnsOfThePause: Check = async (place) => {
  const { session, root } = await withChildren(place)
  expect(await root.commit({ entries: ['{}'], pendingCalls: [1, 2, 3] })).not.toHaveProperty('isPaused')
  await place.sessions.pauses.pause(session.id, pauseNote)
  expect(await root.commit({ entries: ['{}'], pendingCalls: [1, 2, 3] })).toMatchObject({ kind: 'ok', isPaused: true })
}

export const aRenewalLearnsOfThePause: Check = async (place) => {
  const { session, node, root } = await withChildren(place)
  await place.sessions.pauses.pause(session.id, pauseNote)
  expect(await node.turns.renew([renewalOf(root)])).toMatchObject({ verdicts: ['paused'] })
}

export const aPauseWaitsForTurnsThatWereNotTold: Check = async (place) => {
  const { session, root, node } = await withChildren(place)
  expect(await place.sessions.pauses.pause(session.id, pauseNote)).toEqual({ kind: 'ok', turns: 1 })
  await node.turns.renew([renewalOf(root)])
  expect(await place.sessions.pauses.pause(session.id, pauseNote)).toEqual({ kind: 'ok', turns: 1 })
  await node.turns.renew([renewalOf(root, true)])
  expect(await place.sessions.pauses.pause(session.id, pauseNote)).toEqual({ kind: 'ok', turns: 0 })
}

/** 1 000 workers stand in the list of its session in front of the children that run. */
export const aPauseLooksAtSomeWorkersAtATime: Check = async (place) => {
  const { session, node, spawns } = await withChildren(place)
  for (const slot of spawns.keys()) await node.claim({ slot: String(slot + 1) })
  const { workers } = place.sessionKeys(session.id)
  await place.redis.lpush(workers, ...Array.from({ length: 1_000 }, () => newId(0)))
  const before = place.wire.sent
  expect(await place.sessions.pauses.pause(session.id, pauseNote)).toEqual({ kind: 'ok', turns: 4 })
  expect(place.wire.sent).toBe(before + 3)
}

export const whoWaitsForAPauseEndsNoResume: Check = async (place) => {
  const { session } = await withChildren(place)
  await place.sessions.pauses.pause(session.id, pauseNote)
  await place.sessions.pauses.resume(session.id, resumedEvent)
  const changed = await place.changed(async () =>
    expect(await place.sessions.pauses.pause(session.id, pauseNote, true)).toEqual({ kind: 'resumed' }),
  )
  expect(changed).toEqual({})
}

export const aChildOfAPausedSessionIsGivenToNoSlot: Check = async (place) => {
  const session = await place.create()
  const node = place.node()
  const root = await node.claim()
  await place.sessions.pauses.pause(session.id, pauseNote)
  const offer = { slot: '0+', nonce: place.nonce(), takes: [true] }
  const spawns = [place.child(root.worker, 1, 'c1')]
  const answer = await root.park('results:1', {
    spawns,
    offer,
    pendingCalls: [1],
    end: { wait: 'results:1', next: 'stay' },
  })
  expect(answer.assigned ?? []).toEqual([])
  expect(await states(place)).toMatchObject({ c1: 'queued' })
}

export const aPauseThatIsSentAgainUndoesNoResume: Check = async (place) => {
  const { session } = await withChildren(place)
  for (const by of ['bob', 'ada']) await place.sessions.pauses.pause(session.id, { ...pauseNote, by })
  // The second call found a session that was paused before.
  const sent = place.wire.last
  await place.sessions.pauses.resume(session.id, resumedEvent)
  const changed = await place.changed(async () => expect(await place.wire.again(sent)).toEqual(['resumed']))
  expect(changed).toEqual({})
}

export const aResumeThatIsSentAgainEndsNoLaterPause: Check = async (place) => {
  const { session } = await withChildren(place)
  // Somebody else has ended the pause before: the call finds nothing to do.
  await place.sessions.pauses.resume(session.id, resumedEvent)
  const sent = place.wire.last
  await place.sessions.pauses.pause(session.id, pauseNote)
  const changed = await place.changed(async () => expect((await place.wire.again(sent))[0]).toBe('ok'))
  expect(changed).toEqual({})
}

export const aPauseOfAllThatIsSentAgainUndoesNoResume: Check = async (place) => {
  await place.sessions.pauses.pauseAll(pauseNote)
  const sent = place.wire.last
  await place.sessions.pauses.pauseAll(null)
  const changed = await place.changed(async () => expect(await place.wire.again(sent)).toEqual(['ok']))
  expect(changed).toEqual({})
}

export const onlyASessionIsPaused: Check = async (place) => {
  const { session, spawns } = await withChildren(place)
  expect(await place.sessions.pauses.pause(unknown, pauseNote)).toEqual({ kind: 'not_found' })
  expect(await place.sessions.pauses.resume(unknown, resumedEvent)).toEqual({ kind: 'not_found' })
  const ofChild = String(spawns[0]?.id).replace(/^(.{14})8/, '$17')
  expect(await place.changed(() => place.sessions.pauses.pause(ofChild, pauseNote))).toEqual({})
  expect(await place.sessions.pauses.pause(session.id, pauseNote)).toMatchObject({ kind: 'ok' })
}

export const onlyASessionIsResumed: Check = async (place) => {
  await withChildren(place)
  expect(await place.sessions.pauses.resume(unknown, resumedEvent)).toEqual({ kind: 'not_found' })
}

export const aFinishedSessionIsNotPaused: Check = async (place) => {
  const session = await place.create()
  await (await place.node().claim()).complete()
  const pausing = async () =>
    expect(await place.sessions.pauses.pause(session.id, pauseNote)).toEqual({ kind: 'finished', state: 'completed' })
  expect(await place.changed(pausing)).toEqual({})
}

export const aCancelEndsWhatAPauseKeeps: Check = async (place) => {
  const { session, node, root } = await withChildren(place)
  await place.sessions.pauses.pause(session.id, pauseNote)
  await node.ask()
  await place.sessions.cancel(session.id, 'enough')
  const { held, quiet } = place.sessionKeys(session.id)
  await node.upkeep.finishCancelled()
  expect(await place.redis.exists(held)).toBe(0)
  await root.record({ ...cancelledEnd, pendingCount: 3 })
  await node.upkeep.finishCancelled()
  expect(await place.redis.exists(held, quiet)).toBe(0)
  expect(await states(place)).toEqual({ 'one.root': 'terminal', c1: 'terminal', c2: 'terminal', c3: 'terminal' })
}

export const aResumeQueuesOnlyWhoWaits: Check = async (place) => {
  const { session, node, spawns } = await withChildren(place)
  await place.sessions.pauses.pause(session.id, pauseNote)
  await node.ask()
  await place.redis.hset(place.workerKeys(spawns[1]?.id ?? '').record, 'status', 'terminal')
  await place.sessions.pauses.resume(session.id, resumedEvent)
  expect(await lineOf(place)).toEqual([spawns[0]?.id, spawns[2]?.id])
}

export const nodesLearnThatAllIsPaused: Check = async (place) => {
  await place.create()
  const node = place.node()
  await place.sessions.pauses.pauseAll(pauseNote)
  await place.redis.del(place.keys.wakeups('default'))
  expect(await node.sweep()).toMatchObject({ isPaused: true, wakeups: [] })
  await place.sessions.pauses.pauseAll(null)
  expect(await node.sweep()).toMatchObject({ isPaused: false, wakeups: [{ pool: 'default' }] })
}

export const theFirstPauseOfAllStands: Check = async (place) => {
  await place.sessions.pauses.pauseAll(pauseNote)
  await place.sessions.pauses.pauseAll({ ...pauseNote, by: 'bob' })
  expect(await place.inspect.pauseNote()).toEqual(pauseNote)
}
