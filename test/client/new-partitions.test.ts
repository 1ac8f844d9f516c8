/** Partitions that were added since a client connected. */
import { expect, test, vi } from 'vitest'
import { connectInternal } from '../../src/client/client.ts'
import { partitionOfKey, rootIdOf } from '../../src/core/ids.ts'
import { EndpointStore } from '../../src/store/endpoint-store.ts'
import { endpointKeys, tagOf } from '../../src/store/keys.ts'
import { TestTroupe } from '../support/test-troupe.ts'

test('a client looks whether a partition is new before it says that an id is not known', async () => {
  await using troupe = await TestTroupe.connect()
  const { client, redisUrl, namespace } = troupe
  await troupe.create('nobody')
  await using other = await connectInternal({ redisUrl, namespace })
  await other.partitions.raise(8)
  const key = Array.from({ length: 99 }, (_, number) => `key ${number}`).find((one) => partitionOfKey(one, 8) === 5)
  const { id: sessionId } = await other.sessions.create({ kind: 'nobody', input: null, idempotencyKey: key })
  const calls = [
    client.asks.list({ sessionId }),
    client.workers.list({ sessionId }),
    client.audit({ sessionId }).then(({ findings }) => findings),
  ]
  expect(await Promise.all(calls)).toEqual([[], [expect.objectContaining({ id: rootIdOf(sessionId) })], []])
})

test('an endpoint listens in partitions that its client did not know of, before others see it (WEBHOOKS-2)', async () => {
  await using troupe = await TestTroupe.connect()
  const { client, redis, redisUrl, namespace } = troupe
  await using other = await connectInternal({ redisUrl, namespace })
  const listensIn = async (partition: number, id: string) =>
    (await redis.zscore(endpointKeys(tagOf(namespace, partition)).since, id)) !== null
  const seen: boolean[] = []
  await other.partitions.raise(2)
  const write = vi.spyOn(EndpointStore.prototype, 'write').mockImplementationOnce(async function (
    this: EndpointStore,
    ...args
  ) {
    seen.push(await listensIn(1, args[0]))
    return this.write(...args)
  })
  await client.webhooks.add({ url: 'https://example.com/1' })
  write.mockRestore()
  // The partition is added when the client has looked for new ones.
  vi.spyOn(EndpointStore.prototype, 'listen').mockImplementationOnce(async function (this: EndpointStore, ...args) {
    await other.partitions.raise(3)
    return this.listen(...args)
  })
  const { id } = await client.webhooks.add({ url: 'https://example.com/2' })
  seen.push(await listensIn(2, id))
  expect(seen).toEqual([true, true])
})
