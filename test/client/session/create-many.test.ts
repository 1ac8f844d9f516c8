/** `sessions.createMany`: many sessions with few calls to Redis, and a result for each order. */
import { expect, test } from 'vitest'
import { connectInternal } from '../../../src/client/client.ts'
import type { CreateSession } from '../../../src/client/submission/submission.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { InputError } from '../../../src/core/errors.ts'
import { chat } from '../../../src/core/history/chat/message-factories.ts'
import { sessionKeys } from '../../../src/store/keys.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitResult } from '../../support/time/await-session.ts'

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })

test('each order gets its own session, which runs', async () => {
  await using troupe = await TestTroupe.start({ workers: { echo }, client: { partitions: 3 } })
  const orders = Array.from({ length: 40 }, (_, input) => ({ kind: 'echo', input }))
  const results = await troupe.client.sessions.createMany(orders)
  const values = results.map(async (result) => {
    if (result.status === 'rejected') throw result.reason
    return awaitResult(result.value)
  })
  expect(await Promise.all(values)).toMatchObject(orders.map(({ input }) => ({ status: 'completed', value: input })))
})

test('an order that is refused has its error, and stops no other', async () => {
  await using troupe = await TestTroupe.connect()
  const results = await troupe.client.sessions.createMany([
    { kind: 'later', input: 1 },
    { kind: 'no kind', input: 1 },
    { kind: 'later', input: 1n },
    { kind: 'later', input: 1, limits: { workers: -1 } },
    { kind: 'later', input: 2 },
  ])
  const warning = expect.stringContaining('no node has ever hosted kind "later"')
  const created = { status: 'fulfilled', value: expect.objectContaining({ warning }) }
  const refused = { status: 'rejected', reason: expect.any(InputError) }
  expect(results).toEqual([created, refused, refused, refused, created])
  expect(await troupe.client.sessions.list()).toHaveLength(2)
})

test('a key gives the same session again, within one call and in the next', async () => {
  await using troupe = await TestTroupe.connect({ partitions: 2 })
  const order = { kind: 'later', input: 1, idempotencyKey: 'k' }
  const results = [
    ...(await troupe.client.sessions.createMany([order, order, { ...order, input: 2 }])),
    ...(await troupe.client.sessions.createMany([order])),
  ].map((result) => (result.status === 'fulfilled' ? result.value : undefined))
  expect(new Set(results.map((session) => session?.id)).size).toBe(1)
  expect(results.map((session) => session?.warning?.split(':')[0])).toEqual([
    'no node has ever hosted kind "later"',
    'its idempotency key was used before',
    'its idempotency key was used before, for something else',
    'its idempotency key was used before',
  ])
})

test('an order with a long history or with large media stops no other, and takes all of it along', async () => {
  await using troupe = await TestTroupe.connect()
  const history = Array.from({ length: 300 }, (_, number) => chat.user(`text ${number}`, { id: `m${number}`, at: 1 }))
  const media = Array.from({ length: 2 }, (_, number) => ({
    type: 'file',
    mediaType: 'text/plain',
    data: Buffer.alloc(600_000, number + 65),
  }))
  const results = await troupe.client.sessions.createMany([
    { kind: 'later', input: 'go', history },
    { kind: 'later', input: 'short' },
    { kind: 'later', input: media },
  ])
  const sessions = results.map((result) => (result.status === 'fulfilled' ? result.value : null))
  const lengths = sessions.map(async (session) => (await session?.root.report())?.historyLength)
  expect(await Promise.all(lengths)).toEqual([300, 0, 0])
  expect((await troupe.client.audit()).findings).toEqual([])
  const blobs = sessionKeys(troupe.tag, sessions[2]?.id ?? '').blobs
  expect(Object.keys(await troupe.redis.hgetall(blobs))).toHaveLength(3)
})

test('an empty list creates nothing, and a value that is not a list is refused', async () => {
  await using troupe = await TestTroupe.connect()
  expect(await troupe.client.sessions.createMany([])).toEqual([])
  await expect(troupe.client.sessions.createMany('x' as unknown as CreateSession[])).rejects.toBeInstanceOf(InputError)
})

test('an order that could not be sent to Redis has the error of that call', async () => {
  await using troupe = await TestTroupe.connect()
  const client = await connectInternal({ redisUrl: troupe.redisUrl, namespace: troupe.namespace })
  await client.close()
  const results = await client.sessions.createMany([
    { kind: 'later', input: 1 },
    { kind: 'later', input: 2 },
  ])
  expect(results).toMatchObject([
    { status: 'rejected', reason: { code: 'client_closed' } },
    { status: 'rejected', reason: { code: 'client_closed' } },
  ])
})
