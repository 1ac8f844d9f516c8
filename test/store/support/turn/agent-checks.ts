/** Like checks.ts, of what only agents need: permissions, and open calls of the cancelled. */
import { expect } from 'vitest'
import { answered, asked, outcomes, rest, said } from '../agent-turn.ts'
import type { Place } from '../place.ts'
import type { Check } from './checks.ts'

/** A worker with the first permissions asks to spawn a child with the second. */
const isRefused =
  (own: string, given: string, kind = 'echo'): Check =>
  async (place) => {
    const { root } = await place.create({ permissions: own })
    const turn = await place.node().claim()
    const child = place.child(root, 1, 'child', { kind, permissions: given })
    const answer = await turn.commit({ spawns: [child], pendingCalls: [1] })
    expect(answer).toEqual({ kind: 'refused', refusals: [{ reason: 'permission_exceeded', id: child.id }] })
    expect(await place.redis.exists(place.workerKeys(child.id).record)).toBe(0)
  }

export const permissionsThatAreTooWideAreRefused = isRefused('tools a', 'tools a b')
export const aStepUpOutOfTheFolderIsRefused = isRefused('folder /d', 'folder /d/../etc')
export const aKindThatThePermissionsLackIsRefused = isRefused('kinds other', 'kinds other')

/** An agent that waits for two of three calls, in a session that is then cancelled. */
export async function cancelledAgent(place: Place) {
  const { id, root } = await place.create()
  const node = place.node()
  const turn = await node.claim()
  await rest(turn, [said('go'), asked('a', 'b', 'c'), answered('b')])
  await place.sessions.cancel(id, 'enough')
  return { id, root, node }
}

export const aCancelledAgentRestsWithResults: Check = async (place) => {
  const { id, root, node } = await cancelledAgent(place)
  await node.upkeep.finishCancelled()
  expect(await outcomes(place, root)).toEqual(['b ok', 'a cancelled', 'c cancelled', 'cancelled'])
  expect(await place.session(id)).toMatchObject({ state: 'cancelled', 'result:1': 'cancelled 5' })
}

/** While its history is read, another node claims and ends it. */
export const anAgentThatMovedOnIsLeft: Check = async (place) => {
  const { id, root } = await place.create()
  const node = place.node()
  const turn = await node.claim()
  await rest(turn, [said('go'), asked('a', 'b')], { end: { wait: 'again', next: null } })
  await place.sessions.cancel(id, 'enough')
  // A commit that began before the cancel would be refused: here only the record is changed, as if the worker had moved on.
  place.wire.afterNext(async () => {
    const { record, log } = place.workerKeys(root)
    await place.redis.rpush(log, answered('a'))
    await place.redis.hset(
      record,
      'commit',
      `${await place.redis.hget(record, 'commit')}`.replace(/\d+$/, (version) => `${Number(version) + 1}`),
    )
  })
  await node.upkeep.finishCancelled()
  expect(await place.record(root)).toMatchObject({ status: 'queued', open: '1' })
  expect(await place.session(id)).toMatchObject({ state: 'cancelling' })
  await node.upkeep.finishCancelled()
  expect(await outcomes(place, root)).toEqual(['a ok', 'b cancelled', 'cancelled'])
  expect(await place.session(id)).toMatchObject({ state: 'cancelled' })
}
