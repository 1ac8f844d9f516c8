/** Events say who created a session, sent a message, or cancelled. */
import { expect, test } from 'vitest'
import { connect } from '../../src/client/client.ts'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { encodeInput } from '../../src/core/worker/message/message.ts'
import { partitionKeys } from '../../src/store/keys.ts'
import { Producer } from '../submit/support/producer.ts'
import { TestTroupe } from '../support/test-troupe.ts'

const waits = defineWorker({ receive: (_, self) => self.after(600_000, null) })

test('the actor of a client is in the events of everything that it creates, sends and cancels', async () => {
  await using troupe = await TestTroupe.start({ workers: { waits } })
  const { redisUrl, namespace } = troupe
  await using alice = await connect({ redisUrl, namespace, actor: 'alice@desk' })
  const session = await alice.sessions.create({ kind: 'waits', input: 1 })
  await troupe.client.workers.get(session.rootId).send('of nobody')
  await session.root.send('more')
  await session.cancel('enough')
  const told: unknown[] = []
  for await (const { type, details } of session.events({ after: '0-0' }))
    if (/^(session\.created|message\.accepted|session\.cancelRequested)$/.test(type)) told.push([type, details])
  expect(told).toEqual([
    ['session.created', { kind: 'waits', by: 'alice@desk' }],
    ['message.accepted', { kind: 'input' }],
    ['message.accepted', { kind: 'input', by: 'alice@desk' }],
    ['session.cancelRequested', { reason: 'enough', by: 'alice@desk' }],
  ])
})

test('the actor of a client is in the events of what it raises, retries and puts back', async () => {
  const fails = defineWorker({ receive: (_, self) => self.fail('no') })
  await using troupe = await TestTroupe.start({ workers: { fails } })
  const { redisUrl, namespace } = troupe
  await using alice = await connect({ redisUrl, namespace, actor: 'alice@desk' })
  const session = await alice.sessions.create({ kind: 'fails', input: 1, keepOpen: true })
  await session.result({ run: 1 })
  await session.limit({ modelCalls: 7 })
  await session.retry()
  const mail = encodeInput(null, '"again"')
  await troupe.redis.xadd(partitionKeys(troupe.tag).dead, '*', 'worker', session.rootId, 'mail', mail, 'evidence', '{}')
  await alice.redrive({ all: true })
  const told: unknown[] = []
  for await (const { type, details } of session.events({ after: '0-0', follow: false }))
    if (/^(session\.limited|session\.retried|message\.redriven)$/.test(type)) told.push([type, details])
  expect(told).toEqual([
    ['session.limited', { modelCalls: 7, by: 'alice@desk' }],
    ['session.retried', { run: 1, step: expect.any(String), by: 'alice@desk' }],
    ['message.redriven', { letter: expect.any(String), by: 'alice@desk' }],
  ])
})

test('a session says who closed it first, in its events and in its report', async () => {
  await using troupe = await TestTroupe.start({ workers: { waits } })
  const { redisUrl, namespace } = troupe
  await using alice = await connect({ redisUrl, namespace, actor: 'alice@desk' })
  const session = await alice.sessions.create({ kind: 'waits', input: 1, keepOpen: true })
  expect((await session.summary()).closed).toBeNull()
  await session.close()
  await troupe.client.sessions.get(session.id).close()
  expect((await session.report()).session).toMatchObject({ closed: { by: 'alice@desk', at: expect.any(Number) } })
  const told: unknown[] = []
  for await (const { type, details } of session.events({ after: '0-0', follow: false }))
    if (type === 'session.closeRequested') told.push(details)
  expect(told).toEqual([{ by: 'alice@desk' }])
})

test('a session of a submitted job names its actor', async () => {
  await using troupe = await TestTroupe.start({ workers: { waits } })
  await using producer = new Producer(troupe)
  const { sessionId } = await producer.submit({ kind: 'waits', input: 1 })
  for await (const { type, details } of troupe.client.sessions.get(sessionId).events({ after: '0-0' })) {
    expect([type, details]).toEqual(['session.created', { kind: 'waits', by: 'a submitted job' }])
    break
  }
})

test('an actor is a short text', async () => {
  await using troupe = await TestTroupe.connect()
  const { redisUrl, namespace } = troupe
  for (const actor of ['', 'x'.repeat(65), 'a\nb'])
    await expect(connect({ redisUrl, namespace, actor })).rejects.toThrow(/^actor of connect must be a text/)
})
