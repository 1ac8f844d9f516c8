/** Messages between workers of different partitions: through the outbox, in their order, each once (OUTBOX-1, OUTBOX-2, OUTBOX-3). */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { connectInternal } from '../../../src/client/client.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { newId, partitionOf, partitionOfKey } from '../../../src/core/ids.ts'
import { policy } from '../../../src/core/policy.ts'
import { toWorkerLog } from '../../../src/log.ts'
import { Carrier } from '../../../src/runtime/upkeep/carrier.ts'
import { outboxKeys, placesOf, tagOf } from '../../../src/store/keys.ts'
import { RedisOutboxStore } from '../../../src/store/outbox-store.ts'
import { ScriptCaller } from '../../../src/store/script/script.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitEvents } from '../../support/time/await-session.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const partitions = 2

function keyIn(partition: number, of = partitions): string {
  return Array.from({ length: 100 }, (_, number) => `key ${number} of ${of}`).find(
    (key) => partitionOfKey(key, of) === partition,
  ) as string
}

/** A handler that sends each number up to its input to the worker that it is told. */
const sender = defineWorker({
  receive(message, self) {
    const { to, count } = message.value as { to: string; count: number }
    for (let number = 1; number <= count; number++) self.send(to, number)
    self.reply('sent')
  },
})
const collector = defineWorker<number[]>({
  initial: [],
  receive(message, self) {
    if (typeof message.value === 'number') self.setState([...self.state, message.value])
    self.reply(self.state)
  },
})

let troupe: TestTroupe
beforeEach(async () => {
  troupe = await TestTroupe.connect({ partitions })
})
afterEach(() => troupe[Symbol.asyncDispose]())

const createIn = (partition: number, kind: string, input: unknown = null) =>
  troupe.create(kind, input, { idempotencyKey: keyIn(partition), keepOpen: true })

const outboxOf = (partition: number) => {
  const caller = new ScriptCaller(troupe.redis)
  const places = placesOf(troupe.namespace, partitions).map((one) => ({ ...one, redis: troupe.redis, caller }))
  return new RedisOutboxStore(places[partition] as (typeof places)[0], places, policy)
}

const carryAll = async (from: number) => {
  const store = outboxOf(from)
  return Promise.all((await store.partitions()).map((to) => store.carry(to)))
}

test('a worker sends to a worker of another partition: its messages come once, and in their order', async () => {
  await troupe.startNode({ sender, collector })
  const there = await createIn(1, 'collector')
  const here = await createIn(0, 'sender', { to: there.rootId, count: 40 })
  expect([partitionOf(here.rootId), partitionOf(there.rootId)]).toEqual([0, 1])
  expect(await here.result({ run: 1 })).toMatchObject({ value: 'sent' })
  const numbers = Array.from({ length: 40 }, (_, index) => index + 1)
  expect(await there.result({ run: 41 })).toMatchObject({ value: numbers })
  await waitUntil('the outbox is empty', async () => {
    return (await troupe.redis.exists(outboxKeys(tagOf(troupe.namespace, 0)).out('1'))) === 0
  })
  expect((await troupe.client.audit()).findings).toEqual([])
})

test('long messages are read about as many at a time as one script brings', async () => {
  const { redis, namespace } = troupe
  const [sender, recipient] = [newId(0), newId(1)]
  const { out, sent } = outboxKeys(tagOf(namespace, 0))
  const lines = Array.from(
    { length: 6 },
    (_, index) => `${index + 1}\t${sender}\t${recipient}\t\ti\t-\t"${'x'.repeat(900_000)}"`,
  )
  await redis.rpush(out('1'), ...lines)
  await redis.hset(sent, '1', lines.length)
  using reads = vi.spyOn(redis, 'lrange')
  expect(await carryAll(0)).toMatchObject([{ delivered: 6, refused: 6 }])
  const sizes = await Promise.all(reads.mock.results.map(async ({ value }) => ((await value) as string[]).length))
  expect(sizes).toEqual([6, 1, 1, 1, 1, 1, 0])
})

test('messages that two nodes bring at the same time, and again later, come once', async () => {
  const node = await troupe.startNode({ sender })
  const there = await createIn(1, 'collector')
  const { received } = outboxKeys(tagOf(troupe.namespace, 1))
  const outKey = outboxKeys(tagOf(troupe.namespace, 0)).out('1')
  // While this key is no hash, no node can bring a message.
  await troupe.redis.set(received, 'damaged')
  const here = await createIn(0, 'sender', { to: there.rootId, count: 20 })
  await here.result({ run: 1 })
  await node.stop()
  const lines = await troupe.redis.lrange(outKey, 0, -1)
  expect(lines).toHaveLength(20)
  await troupe.redis.del(received)
  await Promise.all([carryAll(0), carryAll(0), carryAll(0)])
  // The answer of that script was lost, so the mails are still there.
  await troupe.redis.rpush(outKey, ...lines)
  await carryAll(0)
  expect(await troupe.redis.exists(outKey)).toBe(0)
  const mails = await there.root.mailbox()
  expect(mails.map(({ message }) => (message as { value: unknown }).value)).toEqual([
    null,
    ...Array.from({ length: 20 }, (_, index) => index + 1),
  ])
})

test('messages for a partition that a node does not know yet wait until it does (OUTBOX-4)', async () => {
  await troupe.startNode({ sender })
  await troupe.client.partitions.raise(partitions + 1)
  await using client = await connectInternal({ redisUrl: troupe.redisUrl, namespace: troupe.namespace })
  const newest = partitions
  const createAt = (partition: number, kind: string, input: unknown = null) =>
    client.sessions.create({ kind, input, keepOpen: true, idempotencyKey: keyIn(partition, partitions + 1) })
  const there = await createAt(newest, 'collector')
  const here = await createAt(0, 'sender', { to: there.rootId, count: 2 })
  expect(await here.result({ run: 1 })).toMatchObject({ value: 'sent' })
  // The node learns of the partition soon. One node that has not learned of it yet:
  const { sent, out } = outboxKeys(tagOf(troupe.namespace, 1))
  await troupe.redis.hset(sent, String(newest), '1')
  await troupe.redis.rpush(out(String(newest)), `1\t${here.rootId}\t${there.rootId}\t\t`)
  const [carried] = await carryAll(1)
  expect(carried).toMatchObject({ delivered: 0, refused: 0, error: { code: 'store_refused' } })
  await troupe.redis.del(sent, out(String(newest)))
  await troupe.startNode({ collector })
  expect(await there.result({ run: 3 })).toMatchObject({ value: [1, 2] })
})

test('a message that its recipient does not take becomes an event of its sender', async () => {
  await troupe.startNode({ sender, collector })
  const there = await createIn(1, 'collector')
  await there.result({ run: 1 })
  await there.cancel()
  // Until its worker has ended, the refusal names the session.
  await waitUntil('the recipient has ended', async () => (await there.summary()).state === 'cancelled')
  const here = await createIn(0, 'sender', { to: there.rootId, count: 1 })
  const events: unknown[] = []
  for await (const { type, details } of awaitEvents(here, { after: '0-0' })) {
    if (type !== 'message.undelivered') continue
    events.push(details)
    break
  }
  expect(events).toEqual([{ to: there.rootId, why: 'terminal' }])
})

const nothing = { wakeups: [], delivered: 0, refused: 0 }

test('messages are brought once more if a request for it comes just as the last round ends (CARRIER-1)', async () => {
  for (let moments = 0; moments < 10; moments++) {
    let carried = 0
    const carry = async () => {
      carried++
      return nothing
    }
    const carrier = new Carrier({ partitions: async () => [1], carry }, () => {}, toWorkerLog(undefined))
    void carrier.run()
    for (let moment = 0; moment < moments; moment++) await Promise.resolve()
    await carrier.run()
    expect(carried, `asked after ${moments} moments`).toBe(2)
  }
})

test('messages for one partition wait for no other one that does not answer (CARRIER-2)', async () => {
  const carried: number[] = []
  const carry = (to: number) => {
    carried.push(to)
    return to === 1 ? new Promise<never>(() => {}) : Promise.resolve(nothing)
  }
  const carrier = new Carrier({ partitions: async () => [1, 2], carry }, () => {}, toWorkerLog(undefined))
  for (const brought of [1, 2, 3]) {
    void carrier.run()
    await waitUntil(
      'the messages for partition 2 are brought',
      () => carried.filter((to) => to === 2).length === brought,
    )
  }
  expect(carried.filter((to) => to === 1)).toEqual([1])
})
