/** Partitions that were added since a client connected. */
import { expect, test } from 'vitest'
import { connectInternal } from '../../src/client/client.ts'
import { partitionOfKey, rootIdOf } from '../../src/core/ids.ts'
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
