/** Short checks of amended histories, which run against scripts without one guard. */
import { expect } from 'vitest'
import type { CreateOptions, Place } from '../place.ts'
import type { Check } from '../turn/checks.ts'

/** A conversation whose root rests after its first run. */
export async function resting(place: Place, options: CreateOptions = { mode: 'conversation' }) {
  const { id, root } = await place.create(options)
  const node = place.node()
  await (await node.claim()).complete()
  const { record, log } = place.workerKeys(root)
  const amend = async (more: object = {}) => {
    const position = await place.redis.llen(log)
    const order = { version: 1, position, entry: '{"type":"expanded"}', event: '[["context.changed",{}]]', ...more }
    return place.sessions.amendments.amend(root, order)
  }
  return { id, root, node, amend, record, log }
}

export const anAmendmentSentAgainCountsOnce: Check = async (place) => {
  const { amend } = await resting(place)
  expect(await amend()).toEqual({ kind: 'ok' })
  const { last } = place.wire
  const again = async () => expect(await place.wire.again(last)).toEqual(last.reply)
  expect(await place.changed(again)).toEqual({})
}

export const aCancelledWorkerIsNotAmended: Check = async (place) => {
  const { amend, record } = await resting(place)
  await place.redis.hset(record, 'status', 'terminal')
  expect(await amend()).toEqual({ kind: 'terminal' })
}

export const aFinishedSessionIsNotAmended: Check = async (place) => {
  const { amend } = await resting(place, { mode: 'job' })
  expect(await amend()).toEqual({ kind: 'session_finished', state: 'completed' })
}

export const aWorkerAtWorkIsNotAmended: Check = async (place) => {
  const { amend, root } = await resting(place)
  await place.post(root, 'x')
  expect(await amend()).toEqual({ kind: 'busy' })
}

export const aHistoryThatMovedOnIsNotAmended: Check = async (place) => {
  const { amend, log } = await resting(place)
  expect(await amend({ version: 7 })).toEqual({ kind: 'moved' })
  expect(await amend({ position: (await place.redis.llen(log)) + 1 })).toEqual({ kind: 'moved' })
}

export const anAmendmentIsANewVersion: Check = async (place) => {
  const { amend, record } = await resting(place)
  await amend()
  expect(await place.redis.hget(record, 'commit')).toMatch(/:2$/)
}

export const aKeyAmendsOnce: Check = async (place) => {
  const { amend, log } = await resting(place)
  const position = await place.redis.llen(log)
  expect(await amend({ key: 'k' })).toEqual({ kind: 'ok' })
  expect(await amend({ key: 'k', version: 2 })).toEqual({ kind: 'again', position })
  expect(await place.redis.llen(log)).toBe(position + 1)
  expect(await place.sessions.amendments.known('k')).toBe(position)
}
