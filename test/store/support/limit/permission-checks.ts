/** What must hold of permissions that a session keeps for the records of its workers; a mutant of each guard fails here. */
import { expect } from 'vitest'
import type { Place } from '../place.ts'
import type { Check } from '../turn/checks.ts'

export const longTools = Array.from({ length: 12 }, (_, index) => `tool-${index}`)
export const longPermissions = `tools ${longTools.join(' ')}`
const narrower = `tools ${longTools.slice(1).join(' ')}`

/** A root with long permissions, and two children with the same ones. */
export async function family(place: Place) {
  const { id, root } = await place.create({ mode: 'conversation', permissions: longPermissions })
  const turn = await place.node().claim()
  const spawns = [1, 2].map((call) => place.child(root, call, `c${call}`, { permissions: narrower }))
  const kept = place.sessionKeys(id).permissions
  return { id, root, turn, spawns, kept }
}

export const aClaimHoldsThePermissionsOfItsWorker: Check = async (place) => {
  const { turn, spawns } = await family(place)
  expect(turn.assignment.permissions).toEqual({ tools: longTools })
  await turn.park('signals', { spawns, pendingCalls: [1, 2] })
  expect((await place.node().claim()).assignment.permissions).toEqual({ tools: longTools.slice(1) })
}

export const permissionsThatAreLostStopTheirWorker: Check = async (place) => {
  const { turn, spawns, kept } = await family(place)
  await place.redis.del(kept)
  const said = await turn.commit({ spawns, pendingCalls: [1, 2] }).catch((error: unknown) => error)
  expect(said).toMatchObject({ details: { damaged: expect.stringContaining(kept) } })
}

export const aCommitThatCannotKeepPermissionsWritesNothing: Check = async (place) => {
  const { root } = await place.create()
  const turn = await place.node().claim()
  const spawns = [place.child(root, 1, 'child', { permissions: longPermissions })]
  await place.redis.set(place.sessionKeys(turn.assignment.sessionId).permissions, 'x')
  const commit = () => turn.commit({ entries: ['{}'], spawns, pendingCalls: [1] }).catch(() => {})
  expect(await place.changed(commit)).toEqual({})
}

export const permissionsGoWithTheirSession: Check = async (place) => {
  const { turn, kept, id } = await family(place)
  await place.sessions.close(id)
  await turn.complete()
  expect(await place.redis.exists(kept)).toBe(1)
  expect(await place.sessions.prune(0)).toBe(1)
  expect(await place.redis.exists(kept)).toBe(0)
}
