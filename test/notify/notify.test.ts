/** `notify`: the result of a session goes into a queue of BullMQ or to an address, once, whoever ends the session. */
import { setImmediate } from 'node:timers/promises'
import { Queue } from 'bullmq'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { withoutKnownSecrets } from '../../src/core/secret/known-secrets.ts'
import { decodeNotify, encodeNotify, notifyProblem } from '../../src/core/worker/notify.ts'
import { ResultQueues } from '../../src/notify/result-queues.ts'
import type { SessionNotice } from '../../src/notify/session-notice.ts'
import { signedHeaders } from '../../src/notify/signature.ts'
import { endRedis, openRedis } from '../../src/store/redis/redis.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { waitUntil } from '../support/time/wait-until.ts'
import { type Received, Receiver } from './support/receiver.ts'

const workers = {
  echo: defineWorker({ receive: ({ value }, self) => self.reply(value) }),
  failing: defineWorker({ receive: (_, self) => self.fail(new Error('no luck')) }),
  mended: defineWorker({
    receive: (_, self) => (isMended ? self.reply('mended') : self.fail(new Error('not yet'))),
  }),
  waiting: defineWorker({
    receive(message, self) {
      if (message.kind === 'input') self.after(3_600_000, 'late')
    },
  }),
}

/** Whether the kind `mended` works. */
let isMended = false

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const older = `whsec_${Buffer.alloc(32, 8).toString('base64')}`

describe('the result of a session', () => {
  let troupe: TestTroupe
  let results: Queue

  beforeAll(async () => {
    troupe = await TestTroupe.start({
      workers,
      webhooks: { secrets: [secret, older], allowPrivateAddresses: true, retryMs: 1 },
    })
    results = new Queue('results', { connection: troupe.redis, prefix: troupe.namespace })
  })
  afterAll(async () => {
    await results.close()
    await troupe[Symbol.asyncDispose]()
  })

  const notify = () => ({ queue: 'results', prefix: troupe.namespace })
  const jobOf = (sessionId: string) =>
    waitUntil('the job is there', async () =>
      (await results.getJobs(['waiting'])).find(({ data }) => data.data.sessionId === sessionId),
    )

  test('a result goes into a queue, with its value, when its run completes', async () => {
    const session = await troupe.create('echo', { a: 1 }, { notify: notify(), name: 'first' })
    const job = await jobOf(session.id)
    expect(job.id).toBe(`${session.id}-1`)
    expect(job.name).toBe('session.completed')
    expect(job.data).toEqual({
      type: 'session.completed',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
      data: { sessionId: session.id, name: 'first', kind: 'echo', run: 1, value: { a: 1 } },
    })
    await waitUntil('nobody tells it again', async () => (await troupe.redis.zcard(`${troupe.tag}:timers`)) === 0)
    expect((await troupe.client.audit()).findings).toEqual([])
  })

  test('a failure goes into the queue when a run fails', async () => {
    const session = await troupe.create('failing', 1, { notify: notify() })
    expect((await jobOf(session.id)).data).toMatchObject({
      type: 'session.failed',
      data: { failure: { message: 'no luck' } },
    })
  })

  test('the result of a retried session goes out again when it ends once more, though its run has the same number', async () => {
    const session = await troupe.create('mended', 1, { notify: notify() })
    await jobOf(session.id)
    isMended = true
    await session.retry()
    const jobs = await waitUntil('both ends are told', async () => {
      const found = (await results.getJobs(['waiting'])).filter(({ data }) => data.data.sessionId === session.id)
      return found.length === 2 && found
    })
    expect(new Map(jobs.map(({ id, name }) => [id, name]))).toEqual(
      new Map([
        [`${session.id}-1`, 'session.failed'],
        [`${session.id}-1-1`, 'session.completed'],
      ]),
    )
  })

  test('the result of a cancelled session that nobody runs goes out', async () => {
    const session = await troupe.create('waiting', 1, { notify: notify() })
    await waitUntil('it waits', async () => (await session.report()).workers[0]?.status === 'parked')
    await session.cancel('enough')
    expect((await jobOf(session.id)).data).toMatchObject({ type: 'session.cancelled' })
  })

  test('the result of a conversation goes out when it is closed, and not before', async () => {
    const session = await troupe.create('echo', 1, { notify: notify(), keepOpen: true })
    await session.result({ run: 1 })
    expect((await results.getJobs(['waiting'])).some(({ data }) => data.data.sessionId === session.id)).toBe(false)
    await session.close()
    expect((await jobOf(session.id)).data).toMatchObject({ type: 'session.completed', data: { run: null } })
  })

  test('a result goes nowhere by a request that would go to this machine, if that is not allowed', async () => {
    await using receiver = new Receiver()
    const url = await receiver.listen()
    await using other = await TestTroupe.start({ workers, webhooks: { secrets: [secret], retryMs: 1 } })
    const session = await other.create('echo', 1, { notify: { url } })
    const deliveries = new Queue('deliveries', { connection: other.redis, prefix: `${other.tag}:q` })
    const job = await waitUntil('it is given up', async () => (await deliveries.getJobs(['failed']))[0])
    expect(job).toMatchObject({ id: `${session.id}-1`, attemptsMade: 1 })
    expect(job.failedReason).toMatch(/private network.*TROUPE_WEBHOOK_PRIVATE=allow/)
    expect(receiver.received).toEqual([])
    await deliveries.close()
  })

  test('the result of a job that another program submitted by BullMQ goes out', async () => {
    const submit = new Queue('submit', { connection: troupe.redis, prefix: `${troupe.tag}:q` })
    await submit.add('any', { kind: 'echo', input: 'from a job', notify: notify() })
    const found = await waitUntil('the job is there', async () =>
      (await results.getJobs(['waiting'])).find(({ data }) => data.data.value === 'from a job'),
    )
    expect(found.data.type).toBe('session.completed')
    await submit.close()
  })

  test('the result goes to an address as a signed request, again until it is accepted, and no redirect is followed', async () => {
    await using receiver = new Receiver()
    const url = await receiver.listen(302, 500)
    const session = await troupe.create('echo', 'signed', { notify: { url } })
    const [request] = await waitUntil('it was accepted', () => receiver.received.length > 2 && receiver.received)
    const { body, headers } = request as Received
    expect(receiver.received.map((one) => one.url)).toEqual(['/hook', '/hook', '/hook'])
    expect(new Set(receiver.received.map((one) => one.body)).size).toBe(1)
    for (const one of [secret, older])
      expect(new Webhook(one).verify(body, headers)).toMatchObject({ type: 'session.completed' })
    expect(() => new Webhook(`whsec_${Buffer.alloc(32, 9).toString('base64')}`).verify(body, headers)).toThrow(
      'No matching signature',
    )
    expect(JSON.parse(body).data).toMatchObject({ sessionId: session.id, value: 'signed' })
    expect(headers['webhook-id']).toBe(`msg_${session.id}-1`)
    expect(withoutKnownSecrets(`${secret} ${older}`)).toBe('[redacted] [redacted]')
  })
})

test('notices that a dead node had not sent are sent by another node, and those it had sent become no second job', async () => {
  await using troupe = await TestTroupe.start({ workers })
  const results = new Queue('results', { connection: troupe.redis, prefix: troupe.namespace })
  const session = await troupe.create('echo', 1, { notify: { queue: 'results', prefix: troupe.namespace } })
  await waitUntil('it is told', async () => (await results.getJobs(['waiting'])).length === 1)
  await waitUntil('a sweep says so', async () => (await troupe.redis.zcard(`${troupe.tag}:timers`)) === 0)
  // Leaves Redis as if the node had died after it added the job and before it said so.
  await troupe.redis.zadd(`${troupe.tag}:timers`, 0, `${session.rootId}:notify`)
  await waitUntil('it is told again', async () => (await troupe.redis.zcard(`${troupe.tag}:timers`)) === 0)
  expect(await results.getJobs(['waiting'])).toHaveLength(1)
  await results.close()
})

test('a queue whose keys would be in several slots of a cluster is refused, with a prefix that works', async () => {
  const queues = new ResultQueues(() => expect.unreachable('nothing is added'), true)
  const added = queues.add({ queue: 'results' }, 'id', {} as SessionNotice)
  await expect(added).rejects.toThrow(/like \{ queue: "results", prefix: "\{results\}" \}/)
})

test('queues that do not fit beside the others are closed when nothing is being added to them, and release their connections (RESULT-QUEUE-2)', async () => {
  await using troupe = await TestTroupe.connect()
  const lent: string[] = []
  const released: string[] = []
  const added: string[] = []
  const early: string[] = []
  const lend = (prefix: string) => {
    const redis = openRedis(troupe.redisUrl)
    lent.push(prefix)
    const release = () => {
      released.push(prefix)
      if (added.filter((one) => one === prefix).length < 2) early.push(prefix)
      endRedis(redis)
    }
    return { redis, release }
  }
  const queues = new ResultQueues(lend, true, 2)
  const prefixes = ['a', 'b', 'c', 'd'].map((name) => `{${troupe.namespace}-${name}}`)
  const wanted = prefixes.flatMap((prefix) => [
    { queue: 'one', prefix },
    { queue: 'two', prefix },
  ])
  const notice = { type: 'session.completed' } as SessionNotice
  const add = async (to: { readonly queue: string; readonly prefix: string }) => {
    await queues.add(to, 'job', notice)
    added.push(to.prefix)
  }
  await Promise.all(wanted.map(add))
  expect(lent).toEqual(prefixes)
  await waitUntil('all but the last are released', () => released.length === 3)
  expect(released.toSorted()).toEqual(prefixes.slice(0, 3))
  expect(early).toEqual([])
  for (const { queue, prefix } of wanted) expect(await troupe.redis.exists(`${prefix}:${queue}:job`)).toBe(1)
  await queues.stop()
  expect(released.toSorted()).toEqual(prefixes)
})

test('a connection stays as long as one of the queues that use it is open (RESULT-QUEUE-2)', async () => {
  await using troupe = await TestTroupe.connect()
  const released: string[] = []
  const lend = (prefix: string) => {
    const redis = openRedis(troupe.redisUrl)
    const release = () => {
      released.push(prefix)
      endRedis(redis)
    }
    return { redis, release }
  }
  const closes = vi.spyOn(Queue.prototype, 'close')
  const queues = new ResultQueues(lend, true, 3)
  const [a, b] = ['a', 'b'].map((name) => `{${troupe.namespace}-${name}}`) as [string, string]
  const add = (queue: string, prefix: string) =>
    queues.add({ queue, prefix }, 'job', { type: 'session.completed' } as SessionNotice)
  for (const [queue, prefix] of [
    ['one', a],
    ['two', a],
    ['one', b],
    ['two', b],
  ] as const)
    await add(queue, prefix)
  await Promise.all(closes.mock.results.map(({ value }) => value as Promise<void>))
  await setImmediate()
  expect([closes.mock.calls.length, released]).toEqual([1, []])
  await add('three', b)
  await waitUntil('it is released', () => released.length > 0)
  await queues.stop()
  expect(released).toEqual([a, b])
})

test('a signature is that of the Standard Webhooks', () => {
  const id = 'msg_p5jXN8AQM9LWM0D4loKWxJek'
  const body = '{"test": 2432232314}'
  const { 'webhook-signature': signature } = signedHeaders(['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwAAAAAAAAAAA='], {
    id,
    body,
    atMs: 1_614_265_330_000,
  })
  expect(signature).toMatch(/^v1,[A-Za-z0-9+/]{43}=$/)
})

test.each([
  [{ queue: 'a:b' }, /BullMQ cannot have/],
  [{ queue: 'a', url: 'https://x.example' }, /either queue or url/],
  [{}, /either queue or url/],
  [{ url: 'ftp://x.example' }, /no address of http or https/],
  [{ url: 'https://me:pw@x.example' }, /user or a password/],
  [{ url: 'https://me@x.example' }, /user or a password/],
  [{ url: `https://x.example/${'x'.repeat(2_000)}` }, /no address of http or https/],
  [{ url: 'https://x.example', prefix: 'bull' }, /only with a queue/],
  [{ topic: 'a' }, /no field "topic"/],
  ['results', /must be an object/],
])('notify %j is refused in words that help', (notify, words) => {
  expect(notifyProblem(notify)).toMatch(words)
})

test('a notify that is stored is read again, and what another program wrote is none', () => {
  const notify = { queue: 'results', prefix: 'p' }
  expect(decodeNotify(encodeNotify(notify))).toEqual(notify)
  for (const text of ['', '{', '"results"', '{"url":"ftp://x.example"}']) expect(decodeNotify(text)).toBeNull()
})
