/** Where a node sends notices, from when it takes part in sending requests, and what it refuses. */
import { Queue } from 'bullmq'
import { expect, test, vi } from 'vitest'
import { queueName } from '../../src/notify/delivery-queue.ts'
import { ResultQueues } from '../../src/notify/result-queues.ts'
import { ResultTeller, type WebhookSettings } from '../../src/notify/result-teller.ts'
import { noticeId, type SessionNotice } from '../../src/notify/session-notice.ts'
import { partitionKeys, tagOf } from '../../src/store/keys.ts'
import { endRedis, openRedis } from '../../src/store/redis/redis.ts'
import { TestTroupe } from '../support/test-troupe.ts'

const secret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`
const notice = { type: 'session.completed', data: { sessionId: 's', run: 1 } } as unknown as SessionNotice

/** A node's teller, and how many connections it has asked for. */
async function telling(
  settings: WebhookSettings,
  use: (teller: ResultTeller, queue: Queue, own: () => number) => Promise<void>,
) {
  await using troupe = await TestTroupe.connect()
  const tag = tagOf(troupe.namespace, 0)
  const { queuePrefix: prefix } = partitionKeys(tag)
  const opened = [openRedis(troupe.redisUrl)]
  const own = vi.fn<() => (typeof opened)[0]>(() => opened[0] as (typeof opened)[0])
  const lend = () => expect.unreachable('no queue is named')
  const queue = new Queue(queueName, { connection: troupe.redis, prefix })
  const teller = new ResultTeller({ own, lend }, { tag, prefix, isCluster: false }, settings, async () => null, {
    warn() {},
  })
  try {
    await use(teller, queue, () => own.mock.calls.length)
  } finally {
    await teller.stop()
    await queue.close()
    for (const redis of opened) endRedis(redis)
  }
  return own
}

test.each(['', 'hush', `whsec_${'x'.repeat(31)}`, `whsec_${'x'.repeat(89)}`, `${secret} `])(
  'a node with the secret "%s" does not start, and says how to make one',
  (wrong) => {
    const connections = { own: expect.unreachable, lend: expect.unreachable } as never
    const place = { tag: 't', prefix: 'p', isCluster: false }
    const start = () =>
      new ResultTeller(connections, place, { secrets: [secret, wrong] }, async () => null, { warn() {} })
    expect(start).toThrow(/^a secret of webhooks is not valid: .* node -p /)
  },
)

test('a node with secrets takes part in sending requests at once, and waits twenty seconds before a second attempt (TELL-2)', async () => {
  const own = await telling({ secrets: [secret] }, async (teller, queue, opened) => {
    expect(opened()).toBe(1)
    await queue.pause()
    await teller.tell({ url: 'http://127.0.0.1:9/hush' }, 'one', notice)
    expect((await queue.getJob('one'))?.opts.backoff).toMatchObject({ delay: 20_000 })
  })
  expect(own).toHaveBeenCalledOnce()
})

test('a node without secrets takes part once it knows of an endpoint, and refuses requests that it cannot sign (TELL-2)', async () => {
  const own = await telling({}, async (teller, queue) => {
    await queue.pause()
    await expect(teller.tell({ url: 'https://example.com/hush' }, 'one', notice)).rejects.toThrow(
      /^it goes to example\.com, and this node has no secret/,
    )
    expect(await queue.getWaitingCount()).toBe(0)
    await teller.tellEndpoint('w', 'one', { type: 'session.completed', body: '{}' })
    expect(await queue.getJob('w.one')).toMatchObject({ data: { webhook: 'w', body: '{}' } })
  })
  expect(own).toHaveBeenCalledOnce()
})

test('a node that stops takes no further part', async () => {
  const own = await telling({}, async (teller) => {
    await teller.stop()
    await expect(teller.tellEndpoint('w', 'one', { type: 'x', body: '{}' })).rejects.toThrow('this node stops')
  })
  expect(own).not.toHaveBeenCalled()
})

test('a queue without a prefix has the prefix of BullMQ, and an error of its connection is no error of the process', async () => {
  await using troupe = await TestTroupe.connect()
  const redis = openRedis(troupe.redisUrl)
  const said = vi.spyOn(console, 'error').mockReturnValue(undefined)
  const lent: string[] = []
  const lend = (prefix: string) => {
    lent.push(prefix)
    return { redis, release() {} }
  }
  const queues = new ResultQueues(lend, false)
  const queue = `results-${troupe.namespace}`
  await queues.add({ queue }, 'job', notice)
  redis.emit('error', new Error('Redis is away'))
  expect([lent, said.mock.calls]).toEqual([['bull'], []])
  const added = new Queue(queue, { connection: troupe.redis, prefix: 'bull' })
  expect(await added.getJob('job')).toMatchObject({ data: notice })
  await added.obliterate({ force: true })
  await Promise.all([added.close(), queues.stop()])
  endRedis(redis)
})

test.each([
  [1, 0, 's-1'],
  [2, 3, 's-2-3'],
  [null, 0, 's-0'],
])('the end of run %s after %i retries has an id of its own: %s', (run, retries, id) => {
  expect(noticeId({ ...notice, data: { ...notice.data, run } }, retries)).toBe(id)
})
