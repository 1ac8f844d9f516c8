/** Endpoints: addresses that are told of what happens in a namespace; what is sent, how it is signed, and what becomes of it. */
import { Queue } from 'bullmq'
import { Webhook as Verifier } from 'standardwebhooks'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { AddWebhook, NoticeType, WebhookWithSecret } from '../../src/client/webhook/webhook.ts'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { partitionOf, rootIdOf } from '../../src/core/ids.ts'
import { withoutKnownSecrets } from '../../src/core/secret/known-secrets.ts'
import { EndpointStore } from '../../src/store/endpoint-store.ts'
import { endpointKeys, tagOf } from '../../src/store/keys.ts'
import { Harness } from '../support/fault/harness.ts'
import { instructions, pay, scripted, tools } from '../support/person/approvals.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { waitUntil } from '../support/time/wait-until.ts'
import { type Received, Receiver } from './support/receiver.ts'

const workers = {
  echo: defineWorker({ receive: ({ value }, self) => self.reply(value) }),
  failing: defineWorker({ receive: (_, self) => self.fail(new Error('no luck')) }),
  asking: defineWorker({
    receive: (message, self) => void (message.kind === 'input' ? self.ask('May I?') : self.reply('done')),
  }),
}

const agent = {
  paying: defineWorker({ instructions, model: 'test/m', tools: tools().tools }),
}

const isPrivate = { allowPrivateAddresses: true }
const bodyOf = ({ body }: Received) => JSON.parse(body)
const typesIn = (receiver: Receiver) => receiver.received.map((one) => bodyOf(one).type)

describe('an endpoint', () => {
  let troupe: TestTroupe
  let receiver: Receiver
  let url: string

  beforeAll(async () => {
    // A request that is not accepted waits until the test makes it again.
    troupe = await TestTroupe.start({
      workers: { ...workers, ...agent },
      modelsByName: { 'test/m': scripted(pay(5)) },
      client: { webhooks: isPrivate, actor: 'ada', partitions: 2 },
      webhooks: { ...isPrivate, retryMs: 3_600_000 },
    })
  })
  afterAll(() => troupe[Symbol.asyncDispose]())

  /** An endpoint and its receiver for one test. */
  async function registered(
    use: (webhook: WebhookWithSecret) => Promise<void>,
    settings: Partial<AddWebhook> = {},
    ...statuses: number[]
  ): Promise<void> {
    receiver = new Receiver()
    url = await receiver.listen(...statuses)
    const webhook = await troupe.client.webhooks.add({ url, ...settings })
    try {
      await use(webhook)
    } finally {
      await troupe.client.webhooks.remove(webhook.id).catch(() => {})
      await receiver[Symbol.asyncDispose]()
    }
  }

  const placeOf = (sessionId: string) => ({
    tag: tagOf(troupe.namespace, partitionOf(sessionId)),
    root: rootIdOf(sessionId),
  })

  const nothingToTell = () =>
    waitUntil('all is told', async () => {
      const timers = [0, 1].map((partition) => troupe.redis.zcard(`${tagOf(troupe.namespace, partition)}:timers`))
      return (await Promise.all(timers)).every((count) => count === 0)
    })

  /** Another endpoint, which was there when it happened, must not hear of it now. */
  async function expectUntold(sessionId: string, notice: string, type: NoticeType): Promise<void> {
    const { webhooks } = troupe.client
    const { id } = await webhooks.add({ url, types: [type] })
    const { tag } = placeOf(sessionId)
    await troupe.redis.zadd(endpointKeys(tag).since, 1, id)
    await troupe.redis.zadd(`${tag}:timers`, 0, notice)
    await nothingToTell()
    expect(await webhooks.deliveries({ webhookId: id })).toEqual([])
    await webhooks.remove(id)
  }

  test('an endpoint gets the ends of sessions that follow, in few words that its secret verifies', async () => {
    await troupe.run('echo', 'before')
    await registered(async ({ id, secret, ...shown }) => {
      const session = await troupe.create('echo', 'result', { name: 'first' })
      await session.result()
      await troupe.run('failing').catch(() => {})
      await waitUntil('both ends are told', () => receiver.received.length === 2)
      const told = receiver.received.find((one) => bodyOf(one).data.sessionId === session.id) as Received
      expect(new Verifier(secret).verify(told.body, told.headers)).toEqual({
        type: 'session.completed',
        timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
        data: { sessionId: session.id, name: 'first', kind: 'echo', run: 1, path: `/v1/sessions/${session.id}` },
      })
      expect(new Set(typesIn(receiver))).toEqual(new Set(['session.completed', 'session.failed']))
      expect(told.headers['webhook-id']).toBe(`msg_${id}.${session.id}-1`)
      expect(shown).toMatchObject({ state: 'enabled', include: 'ids', createdBy: 'ada', previousSecretUntil: null })
      await nothingToTell()
    })
  })

  test('an endpoint of a kind receives only its sessions, and their results if it asks for them', async () => {
    await registered(
      async ({ id: webhookId }) => {
        await troupe.run('echo', { a: 1 })
        await troupe.run('failing').catch(() => {})
        await nothingToTell()
        expect(await troupe.client.webhooks.deliveries({ webhookId })).toHaveLength(1)
        await waitUntil('the failure is told', () => receiver.received.length === 1)
        expect(receiver.received.map(bodyOf)).toMatchObject([
          { type: 'session.failed', data: { kind: 'failing', failure: { message: 'no luck' } } },
        ])
      },
      { kinds: ['failing'], include: 'result' },
    )
  })

  test('an endpoint gets each open ask once, and no ask that has ended', async () => {
    await registered(
      async () => {
        const session = await troupe.create('asking')
        await waitUntil('the ask is told', () => receiver.received.length === 1)
        const [ask] = await troupe.client.asks.list({ sessionId: session.id })
        expect(receiver.received.map(bodyOf)).toMatchObject([
          {
            type: 'ask.opened',
            data: {
              sessionId: session.id,
              askId: ask?.id,
              ask: 'question',
              path: `/v1/asks/${ask?.id}`,
              kind: 'asking',
            },
          },
        ])
        expect(receiver.received[0]?.body).not.toContain('May I?')
        await troupe.client.asks.answer(ask?.id as string, 'yes')
        await session.result()
        await expectUntold(session.id, `${ask?.workerId}:notify:${ask?.id}`, 'ask.opened')
        expect(receiver.received).toHaveLength(1)
      },
      { types: ['ask.opened'] },
    )
  })

  test('an endpoint gets approvals and dead letters, with the call and the evidence if it asks for them', async () => {
    await registered(
      async () => {
        const { id } = await troupe.create('paying', 'go')
        await waitUntil('the approval is told', () => receiver.received.length === 1)
        // Puts a message aside as a script does if that message took its node down five times.
        const { tag, root } = placeOf(id)
        const letter = ['session', id, 'worker', root, 'evidence', '{"step":"a message"}']
        const letterId = await troupe.redis.xadd(`${tag}:dead`, '*', ...letter)
        await troupe.redis.zadd(`${tag}:timers`, 0, `${root}:notify:${letterId}`)
        await waitUntil('the letter is told', () => receiver.received.length === 2)
        const ids = { sessionId: id, workerId: root, kind: 'paying' }
        expect(receiver.received.map(bodyOf)).toMatchObject([
          { type: 'approval.requested', data: { ...ids, details: { tool: 'pay', arguments: { amount: 5 } } } },
          {
            type: 'message.deadLettered',
            data: { ...ids, letterId, killedBy: 'a message', path: `/v1/dead?worker=${root}` },
          },
        ])
        expect(bodyOf(receiver.received[0] as Received).data.path).toMatch(/^\/v1\/approvals\//)
        const copy = await troupe.client.sessions.get(id).fork()
        await waitUntil('the approval of the copy is told', () => receiver.received.length === 3)
        const ofCopy = { type: 'approval.requested', data: { sessionId: copy.id } }
        expect(bodyOf(receiver.received[2] as Received)).toMatchObject(ofCopy)
      },
      { types: ['approval.requested', 'message.deadLettered'], include: 'result' },
    )
  })

  test('an endpoint gets nothing of a dry run, and nothing that happened before it was added', async () => {
    await registered(async ({ id: webhookId }) => {
      const session = await troupe.create('echo', 1, { keepOpen: true })
      await session.result({ run: 1 })
      const copy = await session.fork({ dryRun: true })
      await copy.close()
      await session.close()
      await nothingToTell()
      const told = await troupe.client.webhooks.deliveries({ webhookId })
      expect(told.map(({ sessionId }) => sessionId)).toEqual([session.id])
      const { id } = await troupe.client.webhooks.add({ url })
      const { tag, root } = placeOf(session.id)
      await troupe.redis.zadd(`${tag}:timers`, 0, `${root}:notify:end`)
      await nothingToTell()
      expect(await troupe.client.webhooks.deliveries({ webhookId: id })).toEqual([])
      await troupe.client.webhooks.remove(id)
    })
  })

  test('an endpoint keeps its old secrets for a day when it is rotated, and none if they end at once', async () => {
    await registered(async ({ id, secret }) => {
      // Nobody learned of this one.
      await troupe.client.webhooks.rotate(id)
      const rotated = await troupe.client.webhooks.rotate(id)
      expect(rotated.previousSecretUntil).toBeGreaterThan(Date.now() + 86_000_000)
      await troupe.run('echo')
      await waitUntil('it is told', () => receiver.received.length === 1)
      const [both] = receiver.received as [Received]
      for (const one of [secret, rotated.secret])
        expect(() => new Verifier(one).verify(both.body, both.headers)).not.toThrow()
      const last = await troupe.client.webhooks.rotate(id, { atOnce: true })
      await troupe.run('echo')
      const [, alone] = await waitUntil('it is told again', () => receiver.received.length === 2 && receiver.received)
      const { body, headers } = alone as Received
      expect(() => new Verifier(last.secret).verify(body, headers)).not.toThrow()
      expect(() => new Verifier(rotated.secret).verify(body, headers)).toThrow('No matching signature')
      const shown = JSON.stringify([await troupe.client.webhooks.list(), await troupe.client.webhooks.deliveries()])
      expect(shown).not.toContain('whsec_')
      expect(withoutKnownSecrets(`${secret} ${last.secret}`)).toBe('[redacted] [redacted]')
    })
  })

  test('an endpoint that refuses a delivery is failing, until the delivery is made again by hand, as the same message', async () => {
    await registered(
      async ({ id }) => {
        await troupe.run('echo')
        const [refused] = await waitUntil('it waits for another attempt', async () => {
          const found = await troupe.client.webhooks.deliveries({ webhookId: id, state: 'retrying' })
          return found.length === 1 && found
        })
        expect(refused).toMatchObject({ type: 'session.completed', attempts: 1, status: 503, webhookId: id })
        expect(refused?.reason).toMatch(/^127\.0\.0\.1:\d+ answered with status 503$/)
        expect(refused?.nextAt).toBeGreaterThan(Date.now() + 2_000_000)
        expect(await troupe.client.webhooks.get(id)).toMatchObject({ state: 'failing', failing: { retrying: 1 } })
        expect((await troupe.client.health()).failingWebhooks).toMatchObject([{ id }])
        await troupe.client.webhooks.redeliver(refused?.id as string)
        await waitUntil('it is accepted', () => receiver.received.length === 2)
        await waitUntil('that is known', async () => (await troupe.client.webhooks.get(id)).state === 'enabled')
        // A notice that was accepted is sent again as well.
        await troupe.client.webhooks.redeliver(refused?.id as string)
        await waitUntil('it is accepted again', () => receiver.received.length === 3)
        expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id'])).size).toBe(1)
        const delivery = await waitUntil('it is kept', async () => {
          const one = await troupe.client.webhooks.delivery(refused?.id as string)
          return one.state === 'delivered' && one
        })
        expect(delivery).toMatchObject({ status: 200, reason: null, body: { type: 'session.completed' } })
      },
      {},
      503,
    )
  })

  test('an endpoint that is added again under its key is the same one, as long as it is as it was added', async () => {
    const asked = { types: ['ask.opened', 'session.completed'], idempotencyKey: 'key' } as const
    await registered(async ({ id, secret }) => {
      const { webhooks } = troupe.client
      expect(await webhooks.add({ ...asked, url })).toMatchObject({ id, secret })
      await expect(webhooks.add({ ...asked, url, include: 'result' })).rejects.toThrow(/with other settings/)
      await webhooks.disable(id)
      await expect(webhooks.add({ ...asked, url })).rejects.toThrow(/changed since: troupe webhook rotate/)
      for (const partition of [0, 1])
        expect(await troupe.redis.exists(endpointKeys(tagOf(troupe.namespace, partition)).since)).toBe(0)
    }, asked)
  })

  test('an endpoint that is enabled while somebody disables it listens', async () => {
    await registered(async ({ id }) => {
      const { webhooks } = troupe.client
      // This happens between reading the record and reading who listens.
      using _ = vi.spyOn(EndpointStore.prototype, 'listen').mockImplementationOnce(async function (
        this: EndpointStore,
        ...args
      ) {
        await webhooks.enable(id)
        return this.listen(...args)
      })
      await webhooks.disable(id)
      expect(await webhooks.get(id)).toMatchObject({ state: 'enabled' })
      for (const partition of [0, 1])
        expect(await troupe.redis.zscore(endpointKeys(tagOf(troupe.namespace, partition)).since, id)).not.toBeNull()
    })
  })

  test('a disabled endpoint gets nothing, not even deliveries on their way, and nothing is written for it', async () => {
    await registered(
      async ({ id }) => {
        await troupe.run('echo')
        const [waiting] = await waitUntil('one waits', async () => {
          const found = await troupe.client.webhooks.deliveries({ webhookId: id, state: 'retrying' })
          return found.length === 1 && found
        })
        const { webhooks } = troupe.client
        expect(await webhooks.disable(id)).toMatchObject({ state: 'disabled', changedBy: 'ada' })
        await troupe.run('echo')
        for (const partition of [0, 1])
          expect(await troupe.redis.exists(endpointKeys(tagOf(troupe.namespace, partition)).since)).toBe(0)
        expect(await webhooks.deliveries({ webhookId: id })).toHaveLength(1)
        await expect(webhooks.redeliver(waiting?.id as string)).rejects.toThrow(/is disabled: enable it/)
        const queue = new Queue('deliveries', { connection: troupe.redis, prefix: `${troupe.tag}:q` })
        await (await queue.getJob(waiting?.id as string))?.promote()
        await queue.close()
        const failed = await waitUntil('its next attempt has come', async () => {
          const one = await webhooks.delivery(waiting?.id as string)
          return one.state === 'failed' && one
        })
        expect(failed).toMatchObject({ reason: 'its endpoint is disabled', attempts: 2 })
        await expect(webhooks.test(id)).rejects.toMatchObject({ code: 'transition_illegal' })
        await webhooks.enable(id)
        const { id: testId } = await webhooks.test(id)
        await waitUntil('the test is accepted', async () => (await webhooks.delivery(testId)).state === 'delivered')
        expect(typesIn(receiver)).toEqual(['session.completed', 'webhook.test'])
        await webhooks.remove(id)
        await expect(webhooks.get(id)).rejects.toMatchObject({ code: 'webhook_not_found' })
        expect(await troupe.redis.exists(endpointKeys(troupe.tag).endpoints)).toBe(0)
      },
      {},
      500,
    )
  })
})

test('an endpoint that accepts nothing holds up no other one', async () => {
  await using troupe = await TestTroupe.start({
    workers,
    client: { webhooks: isPrivate },
    webhooks: { ...isPrivate, retryMs: 3_600_000 },
  })
  await using silent = new Receiver()
  await using other = new Receiver()
  const { webhooks } = troupe.client
  const { id } = await webhooks.add({ url: await silent.listen(500) })
  await troupe.run('echo')
  await waitUntil('it refuses', async () => (await webhooks.get(id)).state === 'failing')
  silent.hangs = true
  await webhooks.add({ url: await other.listen() })
  await Promise.all(Array.from({ length: 30 }, () => troupe.run('echo')))
  await waitUntil('the other one is told of all', () => other.received.length === 30)
  await waitUntil('what is too much for it comes later', async () => {
    const waiting = await webhooks.deliveries({ webhookId: id, state: 'retrying' })
    return waiting.filter(({ attempts }) => attempts === 0).length === 27
  })
  expect(silent.received).toHaveLength(4)
})

test('a node reports what happened when the node before it was killed', async () => {
  await using harness = await Harness.open({ client: { webhooks: isPrivate } })
  await using receiver = new Receiver()
  await harness.client.webhooks.add({ url: await receiver.listen() })
  // It sweeps no more after its start.
  const node = await harness.start('a', { policy: { sweepEveryMs: 3_600_000 } })
  const session = await harness.client.sessions.create({ kind: 'tally', input: 1 })
  await session.result()
  await node.kill()
  // A notice that is not sent yet is no fault.
  expect((await harness.client.audit()).findings).toEqual([])
  await using next = await TestTroupe.connect({ namespace: harness.namespace })
  await next.startNode(workers, { webhooks: isPrivate })
  const [told] = await waitUntil('it is told', () => receiver.received.length > 0 && receiver.received)
  expect(bodyOf(told as Received).data.sessionId).toBe(session.id)
})

describe('an address', () => {
  test.each([
    ['http://127.0.0.1/hook', /127\.0\.0\.1 is an address of this machine.*TROUPE_WEBHOOK_PRIVATE=allow/],
    ['http://0x7f.1/', /127\.0\.0\.1/],
    ['http://[::1]:4000/', /::1 is an address/],
    ['https://localhost/', /localhost is an address/],
    ['http://169.254.169.254/latest', /169\.254\.169\.254/],
    ['https://me:pw@example.com/', /must be an address of http or https without a user or a password/],
    ['ftp://example.com/', /must be an address of http or https/],
    ['example.com', /must be an address of http or https/],
  ])('an address that is %s is not registered, and the refusal helps', async (url, words) => {
    await using troupe = await TestTroupe.connect()
    const { message } = await troupe.client.webhooks.add({ url }).then(
      () => expect.unreachable(),
      (error: Error) => error,
    )
    expect(message).toMatch(words)
    expect(message).not.toContain('pw')
    expect(await troupe.client.webhooks.list()).toEqual([])
  })
})
