/** More partitions for a namespace that is in use (RAISE-1, RAISE-2, RAISE-3, RAISE-5). */
import { expect, test, vi } from 'vitest'
import { connectInternal, type Troupe } from '../../../src/client/client.ts'
import { PartitionLook } from '../../../src/client/fleet/partitions.ts'
import { inEach } from '../../../src/client/person/pause.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { TransientError } from '../../../src/core/errors.ts'
import { partitionOf, partitionOfKey } from '../../../src/core/ids.ts'
import { endpointKeys, partitionKeys, tagOf } from '../../../src/store/keys.ts'
import { Connections } from '../../../src/store/redis/connections.ts'
import type { Redis } from '../../../src/store/redis/redis.ts'
import { raisePartitions } from '../../../src/store/set-up/raise.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const tally = defineWorker<number>({
  initial: 0,
  receive(message, self) {
    self.setState(self.state + Number(message.value))
    self.reply(self.state)
  },
})
const keys = Array.from({ length: 12 }, (_, number) => `key ${number}`)

/** Makes a client that starts now. */
async function another({ redisUrl, namespace }: TestTroupe): Promise<Troupe> {
  return connectInternal({ redisUrl, namespace })
}

test('sessions stay in their partition, new ones go to all, and a key that began one begins no other (RAISE-1, RAISE-2)', async () => {
  await using old = await TestTroupe.connect()
  const begin = (client: Troupe, key: string) =>
    client.sessions.create({ kind: 'tally', input: 1, keepOpen: true, idempotencyKey: key })
  const before = await Promise.all(keys.map((key) => begin(old.client, key)))
  expect(await old.client.partitions.raise(4)).toBe(1)
  await using client = await another(old)
  await old.startNode({ tally })

  const again = await Promise.all(keys.map((key) => begin(client, key)))
  expect(again.map(({ id }) => id)).toEqual(before.map(({ id }) => id))

  const fresh = await Promise.all(keys.map((key) => begin(client, `new ${key}`)))
  expect(new Set(fresh.map(({ id }) => partitionOf(id))).size).toBeGreaterThan(1)
  for (const session of [again[0], ...fresh]) {
    expect(await session?.result({ run: 1 })).toMatchObject({ value: 1 })
    await session?.root.send(2)
    expect(await session?.result({ run: 2 })).toMatchObject({ value: 3 })
  }
  expect(await client.partitions.list()).toMatchObject(
    [0, 1, 2, 3].map((partition) => ({ partition, nodes: 1, slot: null, server: null })),
  )
  expect((await client.audit()).findings).toEqual([])
})

test('keys of sessions are looked for in the partitions to which each earlier number of partitions led', async () => {
  await using first = await TestTroupe.connect({ partitions: 2 })
  const order = (key: string) => ({ kind: 'tally', input: 1, idempotencyKey: key })
  const one = await Promise.all(keys.map((key) => first.client.sessions.create(order(key))))
  await first.client.partitions.raise(3)
  await using second = await another(first)
  const two = await Promise.all(keys.map((key) => second.sessions.create(order(`second ${key}`))))
  expect(await second.partitions.raise(7)).toBe(3)
  await using third = await another(first)
  const both = [...keys, ...keys.map((key) => `second ${key}`)]
  const many = await third.sessions.createMany(both.map(order))
  const found = many.map((result) => result.status === 'fulfilled' && result.value.id)
  expect(found).toEqual([...one, ...two].map(({ id }) => id))
})

test('a raise that ended half way is finished by the same raise, and no other begins before (RAISE-3)', async () => {
  await using troupe = await TestTroupe.connect({ partitions: 2 })
  const { redis, namespace, client } = troupe
  const metaOf = (partition: number) => partitionKeys(tagOf(namespace, partition)).meta
  await redis.hset(metaOf(0), 'raising', '4')
  await redis.hset(metaOf(1), 'partitions', '4')
  await expect(client.partitions.raise(8)).rejects.toThrow(/a raise to 4 partitions was begun: finish it/)
  // A client that starts meanwhile knows the old number, and begins nothing under a key that may lead elsewhere.
  const key = keys.find((one) => partitionOfKey(one, 2) === 1) as string
  await using hasty = await connectInternal({ redisUrl: troupe.redisUrl, namespace, deadlineMs: 1_500 })
  const begun = hasty.sessions.create({ kind: 'tally', input: 1, idempotencyKey: key })
  await expect(begun).rejects.toThrow(/raised to 4 partitions.* raise 4` again/)
  expect(await (await another(troupe)).partitions.list()).toHaveLength(2)
  expect(await client.partitions.raise(4)).toBe(2)
  expect(await redis.hmget(metaOf(0), 'partitions', 'raising')).toEqual(['4', null])
  expect(await client.partitions.raise(4)).toBe(4)
})

test('a client that creates under a key while the number is raised waits until it can learn the number (RAISE-3)', async () => {
  await using troupe = await TestTroupe.connect({ partitions: 2 })
  const { redis, namespace, client } = troupe
  const metaOf = (partition: number) => partitionKeys(tagOf(namespace, partition)).meta
  // A raise that has come so far.
  await redis.hset(metaOf(0), 'raising', '3')
  await redis.hset(metaOf(1), 'partitions', '3')
  const key = keys.find((one) => partitionOfKey(one, 2) === 1 && partitionOfKey(one, 3) === 2) as string
  using looks = vi.spyOn(PartitionLook.prototype, 'learn')
  const creating = client.sessions.create({ kind: 'nobody', input: 1, idempotencyKey: key })
  creating.catch(() => {})
  await waitUntil('the client has looked, and learned nothing', () => looks.mock.settledResults.length > 1)
  await using other = await another(troupe)
  await other.partitions.raise(3)
  expect(partitionOf((await creating).id)).toBe(2)
})

test('new partitions take over endpoints and a pause of all sessions', async () => {
  await using troupe = await TestTroupe.connect()
  await troupe.client.pause('works')
  const { id } = await troupe.client.webhooks.add({ url: 'https://example.com/hook' })
  await troupe.client.partitions.raise(3)
  for (const partition of [1, 2]) {
    const tag = tagOf(troupe.namespace, partition)
    expect(JSON.parse((await troupe.redis.hget(partitionKeys(tag).meta, 'paused')) ?? '{}')).toMatchObject({
      why: 'works',
    })
    expect(await troupe.redis.zrange(endpointKeys(tag).since, 0, '-1')).toEqual([id])
  }
})

/** Raises the number to 3, and makes this call just before the new number is published. */
async function raiseWhile(
  { redisUrl, namespace }: TestTroupe,
  call: (first: Redis) => Promise<unknown>,
): Promise<void> {
  const connections = await Connections.open(redisUrl, { deadlineMs: 5_000 })
  const first = connections.at(tagOf(namespace, 0))
  const time = first.time.bind(first)
  first.time = async () => {
    first.time = time
    await call(first)
    return time()
  }
  try {
    await raisePartitions(connections, namespace, 3, 5_000)
  } finally {
    connections.end()
  }
}

test('a pause, its end and an endpoint that come while the number is raised hold in new partitions too (RAISE-5)', async () => {
  for (const isPaused of [true, false]) {
    await using troupe = await TestTroupe.connect()
    const { client, redis, namespace } = troupe
    const endpoints: string[] = []
    if (!isPaused) await client.pause('before')
    await raiseWhile(troupe, async () => {
      await (isPaused ? client.pause('while') : client.resume())
      endpoints.push((await client.webhooks.add({ url: 'https://example.com/hook' })).id)
    })
    for (const partition of [1, 2]) {
      const tag = tagOf(namespace, partition)
      expect(await redis.hexists(partitionKeys(tag).meta, 'paused')).toBe(isPaused ? 1 : 0)
      expect(await redis.zrange(endpointKeys(tag).since, 0, '-1')).toEqual(endpoints)
    }
  }
})

test('a raise that died after it told the new number is settled by the same raise, or by the next one (RAISE-5)', async () => {
  for (const to of [3, 4]) {
    await using troupe = await TestTroupe.connect()
    const { client, redis, namespace } = troupe
    const died = raiseWhile(troupe, async (first) => {
      await client.pause('while')
      first.hget = () => Promise.reject(new Error('it dies'))
    })
    await expect(died).rejects.toThrow(/it dies/)
    const pauses = () =>
      Promise.all([1, 2].map((partition) => redis.hexists(partitionKeys(tagOf(namespace, partition)).meta, 'paused')))
    expect(await pauses()).toEqual([0, 0])
    expect(await client.partitions.raise(to)).toBe(to === 3 ? 1 : 3)
    expect(await pauses()).toEqual([1, 1])
    await client.resume()
    expect(await client.partitions.raise(to)).toBe(to)
    expect(await pauses()).toEqual([0, 0])
  }
})

test('a pause of all reaches partitions that come while it is made', async () => {
  const partitions = [0, 1]
  const reached: number[] = []
  const learn = async () => void (reached.length === 2 && partitions.push(2, 3))
  await inEach(partitions, learn, async (partition) => void reached.push(partition))
  expect(reached).toEqual([0, 1, 2, 3])
})

test('a pause that a partition does not take says that others have taken it, if there are others', async () => {
  const away = async (partition: number) => {
    if (partition === 0) throw new TransientError('It is away.')
  }
  const pausing = (partitions: readonly number[]) => inEach(partitions, async () => {}, away)
  await expect(pausing([0])).rejects.toThrow(/^It is away\.$/)
  await expect(pausing([0, 1])).rejects.toThrow('It is away. The partitions that answered have done it. Repeat it')
})

test('a pause of all is made in the partitions that answer, also while the first one, which has their number, is away', async () => {
  const reached: number[] = []
  const isAway = () => Promise.reject(new TransientError('It is away.'))
  const pausing = inEach([0, 1, 2], isAway, async (partition) => {
    if (partition === 0) return isAway()
    reached.push(partition)
  })
  await expect(pausing).rejects.toThrow('It is away. The partitions that answered have done it. Repeat it')
  expect(reached).toEqual([1, 2])
})

test('a pause that ended after a raise had stopped half way holds no new partition', async () => {
  await using troupe = await TestTroupe.connect()
  const { redis, namespace, client } = troupe
  const { meta } = partitionKeys(tagOf(namespace, 1))
  await redis.hset(meta, 'paused', '{}')
  await client.partitions.raise(2)
  expect(await redis.hget(meta, 'paused')).toBeNull()
})

test('a client that knew of earlier partitions finds what a key began after each raise (RAISE-2)', async () => {
  await using troupe = await TestTroupe.connect()
  const { client } = troupe
  const idempotencyKey = Array.from({ length: 999 }, (_, number) => `key ${number}`).find(
    (key) => partitionOfKey(key, 2) === 1 && partitionOfKey(key, 8) === 5,
  )
  const begin = () => client.sessions.create({ kind: 'nobody', input: null, idempotencyKey })
  await client.partitions.raise(2)
  const { id } = await begin()
  await client.partitions.raise(8)
  expect([partitionOf(id), (await begin()).id]).toEqual([1, id])
})

test('the number of partitions never falls, and has a bound', async () => {
  await using troupe = await TestTroupe.connect({ partitions: 3 })
  await expect(troupe.client.partitions.raise(2)).rejects.toThrow(/has 3 partitions, and their number only grows/)
  await expect(troupe.client.partitions.raise(5_000)).rejects.toThrow(/whole number from 1 to 4096, not 5000/)
  await using unused = await connectInternal({
    redisUrl: troupe.redisUrl,
    namespace: `${troupe.namespace}-`,
    purpose: 'look',
  })
  await expect(unused.partitions.raise(2)).rejects.toThrow(/nothing was ever started/)
})
