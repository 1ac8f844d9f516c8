/** What is told of a worker that is quarantined: what it was doing, how often it was started, and which messages were put aside. */
import { pino } from 'pino'
import { expect, test } from 'vitest'
import type { Session } from '../../../src/client/session/session.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import { TransientError } from '../../../src/core/errors.ts'
import { call, say, together } from '../../../src/models/local/scripted-model.ts'
import { partitionKeys, workerKeys } from '../../../src/store/keys.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { recordedModel } from '../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitEvents, awaitResult } from '../../support/time/await-session.ts'
import { hourMs, makeTimersDue } from '../../support/time/due-timers.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

/** Makes the next claim of a resting root the one that ends its run as failed: five starts came to nothing before it. */
async function poison(troupe: TestTroupe, { root, rootId }: Session, place: 'idle' | 'parked'): Promise<void> {
  await waitUntil('it rests', async () => (await root.report()).status === place)
  const { record } = workerKeys(troupe.tag, rootId)
  const epoch = Number((await troupe.redis.hget(record, 'commit'))?.split(':')[0])
  await troupe.redis.hset(record, { token: `${epoch + 5}:`, isolated: 3, crashes: 4 })
}

/** How a quarantined run ended: its failure, its letter, its entries and the events of its root since its end. */
async function endOf(troupe: TestTroupe, session: Session, run: number) {
  const result = await awaitResult(session, { run })
  const [letter, ...more] = await troupe.client.deadLetters()
  expect(more).toEqual([])
  const entries = (await troupe.history(session.rootId)).filter((entry) => entry.run === run)
  await session.cancel()
  const told: string[] = []
  const events = awaitEvents(session, { after: '0-0', transient: false })
  for await (const { type, details } of events)
    if (type === 'message.deadLettered') told.push(`${type} ${(details as { id: string }).id}`)
  await expectInvariants(troupe.redis, troupe.namespace)
  return { failure: result.status === 'failed' ? result.failure : undefined, letter, entries, told }
}

const evidenceOf = (kind: string, run: number, step: string, attempt: number) => ({
  step,
  run,
  kind,
  name: kind,
  starts: 5,
  crashes: 4,
  epoch: expect.any(Number),
  failure: expect.objectContaining({ code: 'poison', origin: 'runtime', attempt }),
})
const words = (step: string) =>
  expect.stringContaining(`was started 5 times and never committed; the next step was ${step}.`)

test.each([
  ['a handler', defineWorker({ receive: (message, self) => self.reply(message.value) })],
  ['an agent', defineWorker({ instructions: 'x', model: recordedModel('test/m', () => say('fine')) })],
])('the input that a %s received is put aside, and is not in its history', async (_, worker) => {
  await using troupe = await TestTroupe.start({ workers: { worker } })
  const session = await troupe.create('worker', 'one', { keepOpen: true })
  await session.result({ run: 1 })
  await poison(troupe, session, 'idle')
  await session.root.send('two')
  const { failure, letter, entries, told } = await endOf(troupe, session, 2)
  const step = 'message inbox-1 (input)'
  expect(failure).toMatchObject({ code: 'poison', origin: 'runtime', attempt: 1, message: words(step) })
  expect(letter).toMatchObject({ killedBy: step, message: { kind: 'input', value: 'two' } })
  expect(letter?.evidence).toEqual(evidenceOf('worker', 2, step, 1))
  expect(entries.map(({ type }) => type)).toEqual(['failed'])
  expect(told).toEqual(['message.deadLettered inbox-1'])
})

test('a timer that killed a handler stands in its history, and the dead letter holds no message', async () => {
  const worker = defineWorker({
    receive(message, self) {
      if (message.kind === 'input') self.after(hourMs, 'tick')
      else throw new TransientError('not yet', { retryAfterMs: hourMs })
    },
  })
  await using troupe = await TestTroupe.start({ workers: { worker } })
  const session = await troupe.create('worker', 'one', { keepOpen: true })
  await waitUntil('it waits for its timer', async () => (await session.root.report()).waitsFor === 'a timer')
  await makeTimersDue(troupe)
  await waitUntil('it waits for its retry', async () => (await session.root.report()).run === 'TransientFailure')
  await poison(troupe, session, 'parked')
  await makeTimersDue(troupe)
  const { failure, letter, entries, told } = await endOf(troupe, session, 1)
  const step = expect.stringMatching(/^message \S+ \(timer\)$/)
  expect(failure).toMatchObject({ code: 'poison', attempt: 2 })
  expect(letter).toMatchObject({ killedBy: step, message: null, evidence: { step, failure: { attempt: 2 } } })
  expect(entries.map(({ type }) => type)).toEqual(['received', 'attemptFailed', 'received', 'failed'])
  expect(entries[2]).toMatchObject({ message: { kind: 'timer', value: 'tick' } })
  expect(told).toEqual([])
})

test('a handler that had no message is quarantined with evidence that names none', async () => {
  const worker = defineWorker({ receive: (_, self) => self.after(hourMs, 'tick') })
  await using troupe = await TestTroupe.start({ workers: { worker } })
  const session = await troupe.create('worker', 'one', { keepOpen: true })
  await poison(troupe, session, 'parked')
  const { record } = workerKeys(troupe.tag, session.rootId)
  const { run } = partitionKeys(troupe.tag)
  // Leaves the worker as a sweep does after its lease has ended.
  await troupe.redis.hset(record, 'status', 'queued')
  await troupe.redis.zadd(run('default'), 1, session.rootId)
  const { failure, letter, entries } = await endOf(troupe, session, 1)
  expect(failure).toMatchObject({ code: 'poison', message: words('no message') })
  expect(letter).toMatchObject({ killedBy: 'no message', message: null })
  expect(entries.map(({ type }) => type)).toEqual(['received', 'failed'])
})

test.each([
  [['a', 'b', 'c', 'd', 'e', 'f', 'g'], ' and 2 more'],
  [['a', 'b', 'c', 'd', 'e'], ''],
])(
  'a quarantined agent within a run names the tool calls %j that were next, and each is answered',
  async (ids, more) => {
    const flaky = defineTool({
      name: 'flaky',
      description: 'x',
      effect: 'idempotent',
      run() {
        throw new TransientError('not yet', { retryAfterMs: hourMs })
      },
    })
    const model = recordedModel('test/m', () => together(...ids.map((id) => call('flaky', {}, id))))
    const worker = defineWorker({ instructions: 'x', model, tools: [flaky] })
    await using troupe = await TestTroupe.start({ workers: { worker } })
    const session = await troupe.create('worker', 'one', { keepOpen: true })
    await poison(troupe, session, 'parked')
    await makeTimersDue(troupe)
    const { failure, letter, entries, told } = await endOf(troupe, session, 1)
    const step = `tool call flaky (a), flaky (b), flaky (c), flaky (d), flaky (e)${more}`
    expect(failure).toMatchObject({ code: 'poison', origin: 'runtime', attempt: 2, message: words(step) })
    expect(letter).toMatchObject({ killedBy: step, message: null })
    expect(letter?.evidence).toEqual(evidenceOf('worker', 1, step, 2))
    const results = entries.flatMap((entry) => (entry.type === 'toolResult' ? [[entry.toolCallId, entry.status]] : []))
    expect(results).toEqual(ids.map((id) => [id, 'cancelled']))
    expect(told).toEqual([])
  },
)

test('a quarantined agent within a run names the model call that was next', async () => {
  const look = defineTool({ name: 'look', description: 'x', effect: 'pure', run: () => 1 })
  const busy = new TransientError('busy', { retryAfterMs: hourMs })
  const model = recordedModel('test/m', [call('look'), busy])
  const worker = defineWorker({ instructions: 'x', model, tools: [look] })
  const lines: Record<string, unknown>[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  await using troupe = await TestTroupe.start({ workers: { worker }, logger })
  const session = await troupe.create('worker', 'one', { keepOpen: true })
  await poison(troupe, session, 'parked')
  await makeTimersDue(troupe)
  const { letter, failure } = await endOf(troupe, session, 1)
  expect(letter).toMatchObject({ killedBy: 'model call 2 of run 1', message: null })
  const { code, origin, attempt, message: error } = failure ?? {}
  const told = { msg: 'a run failed', code, origin, attempt, error, worker: session.rootId, run: 1 }
  expect(lines).toContainEqual(expect.objectContaining(told))
})

test.each(['job', 'conversation'])(
  'the input of a %s that was put aside before it was received can be retried',
  async (mode) => {
    const worker = defineWorker({ receive: (message, self) => self.reply(message.value) })
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('worker', 'one', { keepOpen: mode === 'conversation' })
    const { record } = workerKeys(troupe.tag, session.rootId)
    await troupe.redis.hset(record, { token: '5:', isolated: 3, crashes: 4 })
    await troupe.startNode({ worker })
    const first = await awaitResult(session, { run: 1 })
    expect(first).toMatchObject({ status: 'failed', failure: { code: 'poison' } })
    const [letter] = await troupe.client.deadLetters()
    expect(await session.retry()).toEqual({ run: 2, step: `the message of dead letter ${letter?.id}` })
    const second = await awaitResult(session, { run: 2 })
    expect(second).toMatchObject({ status: 'completed', value: 'one' })
    expect(await session.result({ run: 1 })).toMatchObject({ status: 'failed' })
    expect(await troupe.client.deadLetters()).toMatchObject([{ redrivenAs: 'inbox-1' }])
    await expectInvariants(troupe.redis, troupe.namespace)
  },
)

/** A job whose handler fails once, and is put aside before its second attempt. */
async function jobPutAside(troupe: TestTroupe): Promise<Session> {
  const session = await troupe.create('worker', 'one')
  await poison(troupe, session, 'parked')
  await makeTimersDue(troupe)
  const first = await awaitResult(session, { run: 1 })
  expect(first).toMatchObject({ status: 'failed', failure: { code: 'poison' } })
  return session
}

test('an input that was put aside after a failed attempt can be retried', async () => {
  const worker = defineWorker({
    receive(message, self) {
      if (self.run === 1) throw new TransientError('not yet', { retryAfterMs: hourMs })
      self.reply(message.value)
    },
  })
  await using troupe = await TestTroupe.start({ workers: { worker } })
  const session = await jobPutAside(troupe)
  expect(await session.retry()).toMatchObject({ run: 2, step: expect.stringMatching(/^the message of dead letter/) })
  expect(await awaitResult(session, { run: 2 })).toMatchObject({ value: 'one' })
  await expectInvariants(troupe.redis, troupe.namespace)
})

test('an input that was put aside after its run had recorded a step is not retried, because another run would repeat the step', async () => {
  const worker = defineWorker({
    async receive(_, self) {
      await self.step('charge', () => 1)
      throw new TransientError('not yet', { retryAfterMs: hourMs })
    },
  })
  await using troupe = await TestTroupe.start({ workers: { worker } })
  const session = await jobPutAside(troupe)
  await expect(session.retry()).rejects.toThrow(
    /another run would do again .*: charge\. Begin a new session with its message: troupe mailbox redrive \S+ --new-session$/,
  )
  await expectInvariants(troupe.redis, troupe.namespace)
})
