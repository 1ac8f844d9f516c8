/** What creating sessions must not do, alone or several in one moment; a mutant of each guard fails here. */
import { expect } from 'vitest'
import { rootIdOf } from '../../../src/core/ids.ts'
import { defaultSessionLimits } from '../../../src/core/policy.ts'
import type { Check } from './checks.ts'

/** All but its id. */
export const aSession = {
  kind: 'echo',
  name: 'echo',
  pool: 'default',
  mode: 'job',
  mail: 'i\t-\t1',
  keyDigest: null,
  limits: defaultSessionLimits,
  event: '[]',
} as const

export const aSpawnSentTwiceIsOneSession: Check = async (place) => {
  const { root } = await place.create()
  await place.wire.again()
  expect(await place.redis.llen(place.workerKeys(root).inbox)).toBe(1)
}

export const spawnsSentTwiceAreThoseSessions: Check = async (place) => {
  const [a, b] = await Promise.all([place.create({ label: 'a' }), place.create({ label: 'b' })])
  const answer = place.wire.last.reply
  const before = await place.dump()
  expect(await place.wire.again()).toEqual(answer)
  expect(await place.dump()).toEqual(before)
  expect([a.wakeups.length, b.wakeups.length]).toEqual([1, 0])
}

export const aSessionAskedForTwiceIsOne: Check = async (place) => {
  const { id } = await place.create()
  const order = { ...aSession, sessionId: id.replace(/^./, 'f') }
  await Promise.all([place.sessions.spawn(order), place.sessions.spawn(order)])
  expect(await place.redis.llen(place.workerKeys(rootIdOf(order.sessionId)).inbox)).toBe(1)
}

export const aForeignKeyStopsSpawnsBeforeTheyWrite: Check = async (place) => {
  const { id } = await place.create()
  const ids = ['e', 'f'].map((digit) => id.replace(/^./, digit))
  await place.redis.set(place.workerKeys(rootIdOf(ids[1] ?? '')).inbox, 'x')
  const answers = await Promise.allSettled(ids.map((sessionId) => place.sessions.spawn({ ...aSession, sessionId })))
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected'])
  expect(await place.redis.zscore(place.keys.sessions, ids[1] ?? '')).toBeNull()
}

export const aKeyIsOneSession: Check = async (place) => {
  const first = await place.create({ key: 'key' })
  expect((await place.create({ key: 'key', label: 'two' })).id).toBe(first.id)
}
