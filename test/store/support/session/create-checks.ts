/** What creating sessions must not do, one or several; a mutant of each guard fails here. */
import { expect } from 'vitest'
import { rootIdOf } from '../../../../src/core/ids.ts'
import { defaultSessionLimits } from '../../../../src/core/policy.ts'
import type { CreateAnswer } from '../../../../src/store/session/create-sessions.ts'
import type { Check } from '../turn/checks.ts'

/** The fields of a new session, without its id. */
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

export const aSessionThatIsSentTwiceIsOne: Check = async (place) => {
  const { root } = await place.create()
  await place.wire.again()
  expect(await place.redis.llen(place.workerKeys(root).inbox)).toBe(1)
}

export const sessionsThatAreSentTwiceAreCreatedOnce: Check = async (place) => {
  const [a, b] = await place.createMany([{ label: 'a' }, { label: 'b' }])
  const wakeups = a?.wakeups.join()
  const before = await place.dump()
  expect(await place.wire.again()).toEqual([
    ['again', a?.id, wakeups],
    ['again', b?.id, ''],
  ])
  expect(wakeups).toMatch(/-default-1$/)
  expect(await place.dump()).toEqual(before)
}

/** Its first claim reads what it began with; a session without a first message is not claimed before it has one. */
export const aSessionMayRestWithAHistory: Check = async (place) => {
  const { root } = await place.create({ mode: 'conversation', history: ['{"one":1}', '{"two":2}'], rests: true })
  const node = place.node()
  expect((await node.ask()).kind).toBe('empty')
  await place.post(root, 'hello')
  const assignment = await node.claim()
  expect([assignment.worker, assignment.version]).toEqual([root, 1])
  expect(await place.redis.lrange(place.workerKeys(root).log, 0, -1)).toEqual(['{"one":1}', '{"two":2}'])
}

const long = Array.from({ length: 450 }, (_, number) => `{"n":${number}}`)

/** It is written in pieces before the session is there. */
export const aLongHistoryStays: Check = async (place) => {
  const before = place.wire.sent
  const { root } = await place.create({ mode: 'conversation', history: long, rests: true })
  expect(place.wire.sent).toBe(before + 4)
  const { log } = place.workerKeys(root)
  expect(await place.redis.lrange(log, 0, -1)).toEqual(long)
  expect(await place.redis.ttl(log)).toBe(-1)
  expect(await place.record(root)).toMatchObject({ version: '1' })
}

/** Redis loses what was written before, as in a fail-over. */
export const aSessionBeginsWithAllOfItsHistory: Check = async (place) => {
  let times = 0
  const lose = async () => {
    const [log = ''] = await place.redis.keys(`${place.keys.tag}:w:*:log`)
    if (times++ === 0) await place.redis.del(log)
    else if (times < 3) place.wire.afterNext(lose)
  }
  place.wire.afterNext(lose)
  const { root } = await place.create({ mode: 'conversation', history: long, rests: true })
  expect(await place.redis.lrange(place.workerKeys(root).log, 0, -1)).toEqual(long)
}

const created = (results: readonly PromiseSettledResult<CreateAnswer>[]) =>
  results.map((result) => (result.status === 'fulfilled' ? [result.value.kind, result.value.sessionId] : 'rejected'))

export const aSessionAskedForTwiceIsOne: Check = async (place) => {
  const { id } = await place.create()
  const order = { ...aSession, sessionId: id.replace(/^./, 'f') }
  const results = await place.sessions.createMany([order, order])
  expect(created(results)).toEqual([
    ['ok', order.sessionId],
    ['again', order.sessionId],
  ])
  expect(await place.redis.llen(place.workerKeys(rootIdOf(order.sessionId)).inbox)).toBe(1)
}

export const aKeyGivenTwiceInOneCallIsOneSession: Check = async (place) => {
  const { id } = await place.create()
  const [first = '', second = '', third = ''] = ['d', 'e', 'f'].map((digit) => id.replace(/^./, digit))
  const order = { ...aSession, keyDigest: 'key' }
  const results = await place.sessions.createMany([
    { ...order, sessionId: first },
    { ...order, sessionId: second },
    { ...order, sessionId: third, mail: 'i\t-\t2' },
  ])
  expect(created(results)).toEqual([
    ['ok', first],
    ['again', first],
    ['other', first],
  ])
  expect(await place.redis.zcard(place.keys.sessions)).toBe(2)
}

/** RAISE-2. A request is answered that its key made here before, whoever asks. */
export const whoKnowsFewerPartitionsBeginsNoSession: Check = async (place) => {
  const { id } = await place.create()
  const order = { ...aSession, keyDigest: 'before', partitions: 1, sessionId: id.replace(/^./, 'd') }
  await place.sessions.create(order)
  await place.redis.hset(place.keys.meta, 'partitions', '4')
  expect((await place.sessions.create({ ...order, sessionId: id.replace(/^./, 'e') })).sessionId).toBe(order.sessionId)
  const late = { ...order, keyDigest: 'late', sessionId: id.replace(/^./, 'f') }
  await expect(place.sessions.create(late)).rejects.toThrow(
    /was raised to 4 partitions, of which this process has not learned yet/,
  )
  expect(await place.redis.zcard(place.keys.sessions)).toBe(2)
  expect((await place.sessions.create({ ...late, partitions: 4 })).kind).toBe('ok')
}

export const aForeignKeyStopsTheCallBeforeItWrites: Check = async (place) => {
  const { id } = await place.create()
  const ids = ['e', 'f'].map((digit) => id.replace(/^./, digit))
  await place.redis.set(place.workerKeys(rootIdOf(ids[1] ?? '')).inbox, 'x')
  const results = await place.sessions.createMany(ids.map((sessionId) => ({ ...aSession, sessionId })))
  expect(created(results)).toEqual([['ok', ids[0]], 'rejected'])
  expect(await place.redis.zscore(place.keys.sessions, ids[1] ?? '')).toBeNull()
}

export const aKeyIsOneSession: Check = async (place) => {
  const first = await place.create({ key: 'key' })
  expect((await place.create({ key: 'key', label: 'two' })).id).toBe(first.id)
}
