/**
 * `concurrency` and `rate` of a kind hold over all nodes, for each key of the inputs; a run that waits holds no slot, begins in order, and says why
 * it waits.
 */
import { expect, test } from 'vitest'
import { z } from 'zod'
import type { Session } from '../../src/client/session/session.ts'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { TerminalError } from '../../src/core/errors.ts'
import { gateIdOf } from '../../src/core/worker/gates.ts'
import { say } from '../../src/models/local/scripted-model.ts'
import { gateKeys, workerKeys } from '../../src/store/keys.ts'
import { auditLines, expectInvariants } from '../support/fault/oracle.ts'
import { recordedModel } from '../support/provider/recorded-model.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { waitUntil } from '../support/time/wait-until.ts'

const input = z.object({ tenant: z.string(), number: z.number() })

/** Runs of tenants, each of which waits for a signal before it ends: parked, it is in progress all the same. */
class Tenants {
  readonly began: string[] = []
  readonly kind

  constructor(more: { concurrency?: { most: number }; rate?: { most: number; perMs: number } }) {
    const key = ({ tenant }: { readonly tenant: string }) => tenant
    this.kind = defineWorker({
      input,
      ...(more.concurrency && { concurrency: { ...more.concurrency, key } }),
      ...(more.rate && { rate: { ...more.rate, key: 'tenant' } }),
      receive: (message, self) => {
        if (message.kind !== 'input') return self.reply('done')
        this.began.push(`${message.value.tenant}${message.value.number}`)
        if (more.concurrency) self.ask({ signal: 'end' })
        else self.reply('done')
      },
    })
  }
}

async function endOne(troupe: TestTroupe, { id }: Session): Promise<void> {
  await waitUntil('it waits for its signal', async () => (await troupe.client.asks.list({ sessionId: id })).length > 0)
  const [ask] = await troupe.client.asks.list({ sessionId: id })
  await troupe.client.asks.answer(ask?.id ?? '', true)
}

test('a gate over two nodes lets as many runs of a key begin as its kind says, and the others begin in order', async () => {
  const tenants = new Tenants({ concurrency: { most: 2 } })
  await using troupe = await TestTroupe.start({ workers: { work: tenants.kind }, concurrency: 1 })
  await troupe.startNode({ work: tenants.kind }, { concurrency: 1 })
  const sessions: Session[] = []
  for (const number of [1, 2, 3, 4]) {
    sessions.push(await troupe.create('work', { tenant: 'acme', number }))
    const isThere = async () => (await sessions.at(-1)?.report())?.workers[0]?.status === 'parked'
    await waitUntil('it has begun, or waits', isThere)
  }
  const other = await troupe.create('work', { tenant: 'other', number: 1 })
  await waitUntil('the other tenant has begun', () => tenants.began.includes('other1'))
  expect(tenants.began).toEqual(['acme1', 'acme2', 'other1'])
  const report = await sessions[3]?.report()
  expect(report?.workers[0]?.holdup).toMatchObject({
    reason: 'gate',
    waitsFor: 'a place: 2 of 2 runs of kind work with key "acme" are in progress; 1 waits in front of it',
  })
  await expectInvariants(troupe.redis, troupe.namespace)
  // A key of the gate that is lost is a finding, and put back it is none.
  const gate = gateKeys(troupe.tag, `work:runs:${gateIdOf('acme')}`)
  await troupe.redis.rename(gate.in, `${troupe.tag}:aside`)
  const whose = (await auditLines(troupe.redis, troupe.namespace)).map((line) =>
    line.replace(/ of session [^:]+:/, ':'),
  )
  const counts = 'its run is in progress, and the gate of its kind does not count it: too many may run at once'
  expect(whose.toSorted()).toEqual([0, 1].map((at) => `I18 worker ${sessions[at]?.root.id}: ${counts}`).toSorted())
  await troupe.redis.rename(`${troupe.tag}:aside`, gate.in)
  // One session ends, one is cancelled while it is parked: each frees its place.
  await endOne(troupe, sessions[0] as Session)
  await waitUntil('the third has begun', () => tenants.began.includes('acme3'))
  await sessions[1]?.cancel('enough')
  await waitUntil('the fourth has begun', () => tenants.began.includes('acme4'))
  for (const session of [sessions[2], sessions[3], other]) await endOne(troupe, session as Session)
  for (const session of [sessions[0], sessions[2], sessions[3], other])
    expect(await session?.result()).toMatchObject({ status: 'completed', value: 'done' })
  await expectInvariants(troupe.redis, troupe.namespace)
})

test('a rate lets waiting runs begin when their time has come, and a conversation asks for each of its runs', async () => {
  const tenants = new Tenants({ rate: { most: 2, perMs: 150 } })
  await using troupe = await TestTroupe.start({ workers: { work: tenants.kind } })
  const talk = await troupe.create('work', { tenant: 'acme', number: 1 }, { keepOpen: true })
  for (const number of [2, 3, 4, 5]) await talk.root.send({ tenant: 'acme', number })
  expect(await talk.result({ run: 5 })).toMatchObject({ status: 'completed' })
  expect(tenants.began).toEqual(['acme1', 'acme2', 'acme3', 'acme4', 'acme5'])
  await talk.close()
  await waitUntil('nobody is at the gate', async () => (await troupe.redis.exists(`${troupe.tag}:gates`)) === 0)
  await expectInvariants(troupe.redis, troupe.namespace)
})

test('an agent waits before its model is called, and a failed run that is retried asks once more under its key', async () => {
  const models = {
    m: recordedModel('m', (_request, number) => {
      if (number === 1) throw new TerminalError('it broke')
      return say('again')
    }),
  }
  const agent = defineWorker({
    instructions: 'Work.',
    model: 'm',
    concurrency: { most: 1, key: (value) => (typeof value === 'string' ? value.slice(0, 1) : null) },
  })
  await using troupe = await TestTroupe.start({ workers: { agent }, modelsByName: models })
  const session = await troupe.create('agent', 'first')
  expect(await session.result()).toMatchObject({ status: 'failed' })
  const { record } = workerKeys(troupe.tag, session.root.id)
  const [, key] = String(await troupe.redis.hget(record, 'gates')).split(' ')
  expect(key).toBe(gateIdOf('f'))
  // Another run has the place.
  const gate = gateKeys(troupe.tag, `agent:runs:${key}`)
  await troupe.redis.hset(gate.gate, 'most', '1')
  await troupe.redis.zadd(gate.in, '1', session.root.id.replace(/.$/, 'x'))
  await session.retry()
  await waitUntil('it waits', async () => (await troupe.redis.zcard(gate.waiting)) === 1)
  expect(models.m.requests).toHaveLength(1)
  await troupe.redis.del(gate.in)
  await troupe.redis.zadd(`${troupe.tag}:gates`, '1', `agent:runs:${key}`)
  expect(await session.result()).toMatchObject({ status: 'completed', value: { text: 'again' } })
})

test('an input behind an order waits like any other', async () => {
  const model = recordedModel('test/m', () => say('done'))
  const agent = defineWorker({ instructions: 'Work.', model, concurrency: { most: 1 } })
  await using troupe = await TestTroupe.start({ workers: { agent } })
  const session = await troupe.create('agent', 'first', { keepOpen: true })
  await session.result({ run: 1 })
  await session.pause()
  const compacted = session.root.compact()
  const { inbox } = workerKeys(troupe.tag, session.root.id)
  await waitUntil('the order is there', async () => (await troupe.redis.llen(inbox)) === 1)
  await session.root.send('second')
  // Another run has the place.
  const gate = gateKeys(troupe.tag, `agent:runs:${gateIdOf(null)}`)
  await troupe.redis.zadd(gate.in, '1', session.root.id.replace(/.$/, 'x'))
  await session.resume()
  await compacted
  await waitUntil('the input waits', async () => (await troupe.redis.zcard(gate.waiting)) === 1)
  expect(model.requests).toHaveLength(1)
  await troupe.redis.del(gate.in)
  await troupe.redis.zadd(`${troupe.tag}:gates`, '1', `agent:runs:${gateIdOf(null)}`)
  expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed' })
})

test.each([
  ['throws', () => JSON.parse('{') as string, 'could not be made from the input'],
  ['is no text', () => ({}) as unknown as string, 'must be a text, a number or null, not an object'],
  ['is a promise', () => Promise.reject(new Error('later')) as unknown as string, 'must be a text, a number or null'],
  ['is too long', () => 'x'.repeat(300), 'has 300 bytes, and may have 256'],
])('a gate key that %s fails the run, and says so', async (_, key, message) => {
  const work = defineWorker({ concurrency: { most: 1, key }, receive: (_message, self) => self.reply(1) })
  await using troupe = await TestTroupe.start({ workers: { work } })
  expect(await troupe.run('work', 1)).toMatchObject({
    status: 'failed',
    failure: {
      code: 'run_failed',
      message: expect.stringContaining(`the key of concurrency of kind "work" ${message}`),
    },
  })
})

test('a run without a gate key is not limited, and one that would wait for its own ancestors fails', async () => {
  const work = defineWorker<unknown, number>({
    concurrency: { most: 1, key: (depth) => (depth < 0 ? null : 'all of them') },
    receive(message, self) {
      if (message.kind === 'input' && message.value > 0) self.spawn('work', message.value - 1)
      else self.reply(message.kind === 'result' ? (message.failure?.message ?? 'none') : 'leaf')
    },
  })
  await using troupe = await TestTroupe.start({ workers: { work } })
  expect(await troupe.run('work', -1)).toMatchObject({ value: 'leaf' })
  expect(await troupe.run('work', 0)).toMatchObject({ value: 'leaf' })
  expect(await troupe.run('work', 1)).toMatchObject({ value: expect.stringContaining('would wait for ever') })
})
