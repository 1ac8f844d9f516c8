/** More partitions for processes that run: they begin to work there without a restart (RAISE-4, GROWTH-1). */
import { expect, test } from 'vitest'
import { startApi } from '../../src/api/api.ts'
import { connectInternal } from '../../src/client/client.ts'
import { partitionOf } from '../../src/core/ids.ts'
import { Harness } from '../support/fault/harness.ts'
import { awaitResult } from '../support/time/await-session.ts'

test('a node and a client run work in new partitions after a raise, and running work goes on', async () => {
  await using harness = await Harness.open()
  const { redisUrl, namespace, client } = harness
  const node = await harness.start('a')
  await using api = await startApi({ redisUrl, namespace, port: 0 })
  const lookUp = (id: string) => fetch(`${api.url}/v1/sessions/${id}`)
  await using old = await connectInternal({ redisUrl, namespace })
  const follower = old.events()[Symbol.asyncIterator]()
  const first = follower.next()
  const long = await client.sessions.create({ kind: 'chain', input: { left: 40, ms: 100 } })
  expect((await first).value?.event).toMatchObject({ sessionId: long.id })

  expect((await lookUp(long.id)).status).toBe(200)
  expect(await client.partitions.raise(4)).toBe(1)
  const keys = Array.from({ length: 16 }, (_, number) => `key ${number}`)
  const order = (key: string) => ({ kind: 'chain', input: { left: 2, ms: 1 }, idempotencyKey: key })
  const [one, ...more] = keys
  const sessions = [await old.sessions.create(order(one as string))]
  for (const result of await old.sessions.createMany(more.map(order)))
    if (result.status === 'fulfilled') sessions.push(result.value)
  expect(new Set(sessions.map(({ id }) => partitionOf(id)))).toEqual(new Set([0, 1, 2, 3]))
  for (const { id } of sessions) expect((await lookUp(id)).status).toBe(200)
  for (const session of sessions) expect(await awaitResult(session)).toMatchObject({ status: 'completed', value: 2 })

  const ended = new Set<string>()
  while (ended.size < sessions.length) {
    const { value } = await follower.next()
    if (value === undefined) throw new Error('The follower has ended.')
    const { type, sessionId } = value.event
    if (type === 'session.completed' && sessionId !== long.id) ended.add(sessionId)
  }
  expect(await awaitResult(long)).toMatchObject({ status: 'completed', value: 40 })
  expect(await client.partitions.list()).toMatchObject([0, 1, 2, 3].map((partition) => ({ partition, nodes: 1 })))
  expect(await node.stop()).toBe(0)
  expect((await client.audit()).findings).toEqual([])
})
