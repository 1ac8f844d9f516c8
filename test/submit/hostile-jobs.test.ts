/** Jobs that no program would add by mistake: each fails with a reason, and none stops a node or loads the Redis. */
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { LimitError } from '../../src/core/errors.ts'
import { partitionKeys, tagOf } from '../../src/store/keys.ts'
import { openRedis } from '../../src/store/redis/redis.ts'
import { SubmissionListener, type Submit } from '../../src/submit/submission-queue.ts'
import { SubmissionWorker } from '../../src/submit/submission-worker.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { waitUntil } from '../support/time/wait-until.ts'
import { Producer } from './support/producer.ts'

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })
const many = (count: number, one: (index: number) => string) =>
  Array.from({ length: count }, (_, i) => one(i)).join(',')
const session = (fields: string) => `{"kind":"echo",${fields}}`

test.each([
  ['35 MB of limits', session(`"input":1,"limits":{${many(2_500_000, (n) => `"limit${n}":1`)}}`), /has \d+ bytes/],
  ['60 MB of empty objects', `[${many(20_000_000, () => '{}')}]`, /has \d+ bytes/],
  ['a long text', session(`"input":"${'x'.repeat(5_000_000)}"`), /has \d+ bytes/],
  ['many empty objects', session(`"input":[${many(200_000, () => '{}')}]`), /more than 100000 objects/],
  ['many names', session(`"input":1,"limits":{${many(200_000, (n) => `"${n}":1`)}}`), /more than 100000 objects/],
  ['many permissions', session(`"input":1,"permissions":{"tools":[${many(90_000, () => '"a"')}]}`), /90000 names/],
  ['a deep list', session(`"input":${'['.repeat(100)}${']'.repeat(100)}`), /nested more than 65 deep/],
  ['a deep object', `${'{"a":'.repeat(1_000_000)}1${'}'.repeat(1_000_000)}`, /has \d+ bytes|nested more than/],
  ['an unknown limit', session('"input":1,"limits":{"constructor":1}'), /constructor/],
  ['a prototype', '{"kind":"echo","input":1,"__proto__":{"limits":{}}}', /__proto__/],
  ['a prototype of limits', session('"input":1,"limits":{"__proto__":5}'), /__proto__/],
  ['an unknown name', session('"input":1,"grant":{}'), /grant/],
  ['a deep answer', `{"ask":"x","answer":${'['.repeat(100)}${']'.repeat(100)}}`, /nested more than 65 deep/],
  ['a prototype of an answer', '{"ask":"0199a0c2-b7fe-7cc3-8a3c-6d1f4f6a1000","answer":1,"__proto__":{}}', /__proto__/],
  ['no object', '[1]', /needs data/],
  ['no JSON', '{"kind":', /is not JSON/],
])('a job with %s fails at once with its reason, and the next one runs', async (_, data, reason) => {
  await using troupe = await TestTroupe.start({ workers: { echo } })
  await using producer = new Producer(troupe)
  await producer.queue.pause()
  const job = await producer.queue.add('x', {}, { attempts: 5 })
  await troupe.redis.hset(producer.queue.toKey(job.id as string), 'data', data)
  await producer.queue.resume()
  await waitUntil('the job has failed', () => job.isFailed())
  const [failedReason = '', attempts] = await troupe.redis.hmget(
    producer.queue.toKey(job.id as string),
    'failedReason',
    'atm',
  )
  expect(failedReason).toMatch(reason)
  expect(failedReason?.length).toBeLessThan(2_000)
  expect(attempts).toBe('1')
  const { sessionId } = await producer.submit({ kind: 'echo', input: 'next' })
  expect(await troupe.client.sessions.get(sessionId).result()).toMatchObject({ value: 'next' })
})

test('a number of a job that JavaScript cannot hold keeps its digits, as a text', async () => {
  await using troupe = await TestTroupe.start({ workers: { echo } })
  await using producer = new Producer(troupe)
  await producer.queue.pause()
  const job = await producer.queue.add('x', {})
  const data = session('"input":{"id":12345678901234567890}')
  await troupe.redis.hset(producer.queue.toKey(job.id as string), 'data', data)
  await producer.queue.resume()
  const { sessionId } = await producer.completed(job)
  const result = await troupe.client.sessions.get(sessionId).result()
  expect(result).toMatchObject({ value: { id: '12345678901234567890' } })
})

test('a job may nest its input 64 deep, and escape each letter of a text that a message may hold', async () => {
  await using troupe = await TestTroupe.start({ workers: { echo } })
  await using producer = new Producer(troupe)
  const deep = `${'['.repeat(64)}${']'.repeat(64)}`
  const escaped = `"${'\\u00e9'.repeat(500_000)}"`
  for (const input of [deep, escaped]) {
    await producer.queue.pause()
    const job = await producer.queue.add('x', {})
    await troupe.redis.hset(producer.queue.toKey(job.id as string), 'data', session(`"input":${input}`))
    await producer.queue.resume()
    const { sessionId } = await producer.completed(job)
    expect(await troupe.client.sessions.get(sessionId).result()).toMatchObject({ value: JSON.parse(input) })
  }
})

test('a job that was started three times without an end fails as poison, and is not read again (SUBMIT-6)', async () => {
  await using troupe = await TestTroupe.start({ workers: { echo } })
  await using producer = new Producer(troupe)
  const outcome = async (stalls: number) => {
    await producer.queue.pause()
    const job = await producer.queue.add('x', { kind: 'echo', input: stalls }, { attempts: 9 })
    await troupe.redis.hset(producer.queue.toKey(job.id as string), 'stc', stalls)
    await producer.queue.resume()
    await waitUntil('the job has ended', async () => (await job.isFailed()) || (await job.isCompleted()))
    return (await producer.queue.getJob(job.id as string))?.failedReason
  }
  expect(await outcome(2)).toBeUndefined()
  expect(await outcome(3)).toMatch(/^poison: a submitted job was started 3 times/)
})

test('a job whose lock ended while Redis took no writes is no poison (SUBMIT-6)', async () => {
  await using troupe = await TestTroupe.connect()
  await using producer = new Producer(troupe)
  const { redis, namespace } = troupe
  const prefix = partitionKeys(tagOf(namespace, 0)).queuePrefix
  const connection = openRedis(troupe.redisUrl)
  const silent = { warn: () => {} }
  const unreadable: (string | undefined)[] = []
  const worker: SubmissionWorker = new SubmissionWorker(
    'submit',
    async (job) => void unreadable.push(worker.whyUnreadable(job)?.code),
    { connection, prefix, autorun: false },
    silent,
  )
  await producer.queue.add('x', {}, { jobId: 'once' })
  await producer.queue.add('x', {}, { jobId: 'more' })
  await redis.hset(producer.queue.toKey('once'), 'stc', 3)
  await redis.hset(producer.queue.toKey('more'), 'stc', 4)
  const refusal = Object.assign(new Error("READONLY You can't write against a read only replica."), {
    name: 'ReplyError',
  })
  for (const error of [refusal, refusal, new Error('Missing lock')]) worker.emit('error', error)
  void worker.run()
  await waitUntil('both were taken', () => unreadable.length === 2)
  expect(unreadable).toEqual([undefined, 'poison'])
  await worker.close()
  connection.disconnect()
})

test('a caller who chooses the key of a job gets no session and no message of that job', async () => {
  await using troupe = await TestTroupe.start({ workers: { echo } })
  await using producer = new Producer(troupe)
  const keys = ['order-1', 'submit:order-1']
  const job = await producer.submit({ kind: 'echo', input: 1, keepOpen: true }, { jobId: 'order-1' })
  for (const idempotencyKey of keys) {
    const session = await troupe.client.sessions.create({ kind: 'echo', input: 1, keepOpen: true, idempotencyKey })
    expect(session.id).not.toBe(job.sessionId)
    expect(session.warning).toBeNull()
  }
  await producer.submit({ worker: job.workerId, input: 2 }, { jobId: 'order-2' })
  for (const idempotencyKey of ['order-2', 'submit:order-2'])
    expect(await troupe.client.workers.get(job.workerId).send(2, { idempotencyKey })).toMatchObject({ again: false })
})

describe('a job for a full mailbox', () => {
  const full: Submit = () => Promise.reject(new LimitError('mailbox_full', 'not now'))
  const hour = 3_600_000

  test.each([
    [{ type: 'fixed', delay: 0 }, 0, 1_000],
    [{ type: 'fixed', delay: 1 }, 0, 1_000],
    [{ type: 'fixed', delay: -5 }, 0, 1_000],
    [{ type: 'fixed', delay: 5_000 }, 7, 5_000],
    [{ type: 'fixed', delay: hour }, 0, 600_000],
    [{ type: 'fixed', delay: 1e308 }, 0, 600_000],
    [{ type: 'exponential', delay: 0 }, 9, 1_000],
    [{ type: 'exponential', delay: 1_500 }, 0, 1_500],
    [{ type: 'exponential', delay: 1_500 }, 3, 12_000],
    [{ type: 'exponential', delay: 1 }, 5_000, 600_000],
    [{ type: 'fixed', delay: 1_000, jitter: 1 }, 0, 1_000],
    [{ type: 'fixed', delay: '5' }, 0, 1_000],
    [{ type: 'toString', delay: 5_000 }, 0, 1_000],
    [{ type: 'constructor' }, 0, 1_000],
    [undefined, 0, 1_000],
  ])(
    'a job for a full mailbox with the back-off %j after %d attempts waits for %d ms, though it may be tried a thousand million times',
    async (backoff, attempts, ms) => {
      await using troupe = await TestTroupe.connect()
      await using producer = new Producer(troupe)
      const { queue } = producer
      const job = await queue.add('x', {}, { attempts: 1e9 })
      const key = queue.toKey(job.id as string)
      await troupe.redis.hset(key, 'atm', attempts, 'opts', JSON.stringify({ attempts: 1e9, backoff }))
      const connection = openRedis(troupe.redisUrl)
      const prefix = `{${troupe.namespace}.0}:q`
      const listener = new SubmissionListener(connection, prefix, full, { debug() {}, warn() {} })
      await waitUntil('it waits for its next try', async () => (await job.getState()) === 'delayed')
      await listener.stop()
      connection.disconnect()
      const [delay, stacks] = await troupe.redis.hmget(key, 'delay', 'stacktrace')
      expect({ delay: Number(delay), stacks: (JSON.parse(stacks ?? '') as unknown[]).length }).toEqual({
        delay: ms,
        stacks: 1,
      })
    },
  )
})
