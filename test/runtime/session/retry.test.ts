/** A session whose last run failed goes on at its failed step (`session.retry`). */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorker, type Self } from '../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import { TerminalError } from '../../../src/core/errors.ts'
import { chat } from '../../../src/core/history/chat/message-factories.ts'
import type { UnknownDecision } from '../../../src/core/history/run/unknown-decision.ts'
import { call, say, together } from '../../../src/models/local/scripted-model.ts'
import { recordedModel } from '../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitResult } from '../../support/time/await-session.ts'

const refusal = new TerminalError('no credit', { code: 'model_refused' })

async function expectSound(troupe: TestTroupe) {
  expect((await troupe.client.audit()).findings).toEqual([])
}

function counted(effect: 'pure' | 'idempotent' | 'once', run: (key: string) => unknown, name = 'look') {
  const keys: string[] = []
  const tool = defineTool({
    name,
    description: 'Looks.',
    effect,
    approval: 'never',
    timeoutMs: 50,
    run(_, { idempotencyKey }) {
      keys.push(idempotencyKey)
      return run(idempotencyKey)
    },
  })
  return { keys, tool }
}

test('a failed run goes on after its agent was configured, with what was set', async () => {
  const { tool } = counted('pure', () => 'seen')
  const other = recordedModel('test/other', () => say('done'))
  const model = recordedModel('test/m', [call('look'), refusal])
  await using troupe = await TestTroupe.start({
    workers: { agent: defineWorker({ instructions: 'x', model, tools: [tool], retries: 0 }) },
    modelsByName: { 'test/other': other },
  })
  const session = await troupe.create('agent', 'go', { keepOpen: true })
  expect(await session.result({ run: 1 })).toMatchObject({ status: 'failed' })
  await session.root.configure({ model: 'test/other' })
  expect(await session.retry()).toEqual({ run: 1, step: 'model call 2' })
  expect(await awaitResult(session, { run: 1 })).toMatchObject({
    value: { text: 'done' },
  })
  expect(other.requests[0]?.messages).toEqual(model.requests[1]?.messages)
  await expectSound(troupe)
})

test('a failed run goes on after its last summary was taken back, and not after a message was pushed', async () => {
  let isDown = false
  const model = recordedModel('test/m', () => (isDown ? refusal : say('reply')))
  await using troupe = await TestTroupe.start({
    workers: { agent: defineWorker({ instructions: 'x', model, retries: 0 }) },
  })
  const session = await troupe.create('agent', 'text 1', { keepOpen: true })
  const ended = async (run: number) => (await awaitResult(session, { run })).status
  for (const run of [2, 3]) {
    await ended(run - 1)
    await session.root.send(`text ${run}`)
  }
  await ended(3)
  expect(await session.root.compact({ keepLast: 1 })).toMatchObject({ compacted: true })
  for (const run of [4, 5]) {
    isDown = true
    await session.root.send(`text ${run}`)
    expect(await ended(run)).toBe('failed')
    isDown = false
    if (run === 5) break
    await session.root.expand()
    expect(await session.retry()).toEqual({ run, step: 'model call 1' })
    expect(await ended(run)).toBe('completed')
  }
  await session.root.push(chat.user('pushed'))
  await expect(session.retry()).rejects.toThrow('its history was changed from outside since')
  await expectSound(troupe)
})

describe('a job of an agent', () => {
  test('a retried job whose third model call failed makes that call again, and repeats no recorded step', async () => {
    const { keys, tool } = counted('once', () => 'seen')
    const replies = [call('look', {}, 'c1'), call('look', {}, 'c2'), refusal, say('done')]
    const model = recordedModel('test/m', replies)
    await using troupe = await TestTroupe.start({
      workers: { agent: defineWorker({ instructions: 'x', model, tools: [tool], retries: 0 }) },
    })
    const session = await troupe.create('agent', 'go')
    expect(await awaitResult(session)).toMatchObject({ status: 'failed', run: 1 })
    await expectSound(troupe)
    expect(await session.retry()).toEqual({ run: 1, step: 'model call 3' })
    expect(await awaitResult(session)).toMatchObject({ status: 'completed', run: 1, value: { text: 'done' } })
    expect(keys).toHaveLength(2)
    expect(model.requests).toHaveLength(4)
    expect(model.requests[3]?.messages).toEqual(model.requests[2]?.messages)
    expect(model.requests[3]?.idempotencyKey).toBe(model.requests[2]?.idempotencyKey)
    await expectSound(troupe)
    const types = (await troupe.history(session.rootId)).map(({ type }) => type)
    expect(types.slice(-4)).toEqual(['failed', 'retried', 'assistant', 'completed'])
    const events = []
    for await (const { type } of session.events({ after: '0-0', transient: false })) events.push(type)
    expect(events.filter((type) => type.startsWith('session.'))).toEqual([
      'session.created',
      'session.failed',
      'session.retried',
      'session.completed',
    ])
  })

  test('a retried job whose tool failed for good runs that tool again under the same key, and the calls that its end cancelled', async () => {
    let isMended = false
    const first = counted('once', () => 'paid', 'pay')
    const broken = counted('idempotent', () => {
      if (!isMended) throw new TerminalError('no such account')
      return 'moved'
    })
    const model = recordedModel('test/m', [
      call('pay', {}, 'c0'),
      together(call('look', {}, 'c1'), call('look', {}, 'c2')),
      say('done'),
    ])
    await using troupe = await TestTroupe.start({
      workers: { agent: defineWorker({ instructions: 'x', model, tools: [first.tool, broken.tool] }) },
    })
    const session = await troupe.create('agent', 'go')
    expect(await awaitResult(session)).toMatchObject({ status: 'failed' })
    isMended = true
    const before = new Set(broken.keys)
    await session.retry()
    expect(await awaitResult(session)).toMatchObject({ status: 'completed', value: { text: 'done' } })
    expect(first.keys).toHaveLength(1)
    for (const key of before) expect(broken.keys.filter((one) => one === key).length).toBeGreaterThan(1)
    expect(new Set(broken.keys).size).toBe(2)
    const [, told] = model.requests[2]?.messages.filter(({ role }) => role === 'tool') ?? []
    expect(told).toMatchObject({ results: [{ output: { value: 'moved' } }, { output: { value: 'moved' } }] })
    await expectSound(troupe)
  })

  const decisions: readonly [UnknownDecision, number, RegExp][] = [
    ['again', 2, /^paid$/],
    ['failed', 1, /took no effect/],
    ['done', 1, /took effect/],
  ]
  test.each(decisions)(
    'a retried job with a call of unknown outcome goes on as a person decides: %s',
    async (unknown, runs, said) => {
      const hangs = new Promise<never>(() => {})
      const { keys, tool } = counted('once', () => (keys.length === 1 ? hangs : 'paid'), 'pay')
      const model = recordedModel('test/m', [call('pay', {}, 'c1'), say('done')])
      await using troupe = await TestTroupe.start({
        workers: { agent: defineWorker({ instructions: 'x', model, tools: [tool] }) },
      })
      const session = await troupe.create('agent', 'go')
      expect(await awaitResult(session)).toMatchObject({ failure: { code: 'tool_outcome_unknown' } })
      await expect(session.retry()).rejects.toThrow(/--unknown done/)
      expect(await session.retry({ unknown })).toMatchObject({ step: 'tool call pay (c1)' })
      expect(await awaitResult(session)).toMatchObject({ status: 'completed' })
      expect(keys).toHaveLength(runs)
      expect(new Set(keys).size).toBe(1)
      const [told] = model.requests[1]?.messages.filter(({ role }) => role === 'tool') ?? []
      expect(told).toMatchObject({ results: [{ toolCallId: 'c1', output: { value: expect.stringMatching(said) } }] })
      await expectSound(troupe)
    },
  )

  test('a retried job that used up its tokens goes on with more, and fails again without', async () => {
    const usage = { inputTokens: 50, outputTokens: 50 } as never
    const model = recordedModel('test/m', (_, number) =>
      number === 1 ? { ...call('look', {}, 'c1'), usage } : say('done'),
    )
    const { tool } = counted('pure', () => 'seen')
    await using troupe = await TestTroupe.start({
      workers: { agent: defineWorker({ instructions: 'x', model, tools: [tool] }) },
    })
    const session = await troupe.create('agent', 'go', { limits: { tokens: 60 } })
    expect(await awaitResult(session)).toMatchObject({ failure: { code: 'budget_exceeded' } })
    await session.retry()
    expect(await awaitResult(session)).toMatchObject({ failure: { code: 'budget_exceeded' } })
    await session.retry({ limits: { tokens: 1_000 } })
    expect(await awaitResult(session)).toMatchObject({ status: 'completed' })
    await expectSound(troupe)
  })

  test('a job of an agent may fail again and again, and spawns under new numbers', async () => {
    const child = defineWorker({ receive: (message, self) => self.reply(message.value) })
    const spawn = (id: string) => call('spawn_workers', { tasks: [{ kind: 'child', input: id }] }, id)
    const model = recordedModel('test/m', [spawn('c1'), refusal, spawn('c2'), refusal, say('done')])
    await using troupe = await TestTroupe.start({
      workers: { child, agent: defineWorker({ instructions: 'x', model, spawns: ['child'], retries: 0 }) },
    })
    const session = await troupe.create('agent', 'go')
    await awaitResult(session)
    await session.retry()
    expect(await awaitResult(session)).toMatchObject({ status: 'failed' })
    await session.retry()
    expect(await awaitResult(session)).toMatchObject({ status: 'completed', value: { text: 'done' } })
    expect((await session.report()).workers).toHaveLength(3)
    await expectSound(troupe)
  })
})

test('a job of a handler receives its message again, under the same key', async () => {
  const keys: string[] = []
  const worker = defineWorker({
    receive(message, self) {
      keys.push(self.idempotencyKey)
      if (keys.length === 1) throw new TerminalError('not today')
      self.reply(message.value)
    },
  })
  await using troupe = await TestTroupe.start({ workers: { worker } })
  const session = await troupe.create('worker', { n: 1 })
  expect(await awaitResult(session)).toMatchObject({ status: 'failed' })
  expect(await session.retry()).toEqual({ run: 1, step: 'message inbox-0 (input)' })
  expect(await awaitResult(session)).toMatchObject({ status: 'completed', run: 1, value: { n: 1 } })
  expect(new Set(keys).size).toBe(1)
  await expectSound(troupe)
})

test('a handler that failed after its steps goes on without repeating them, however often it is retried', async () => {
  const done: string[] = []
  let isMended = false
  const worker = defineWorker({
    async receive(_, self) {
      const ids = [await self.step('charge', () => done.push('charge'))]
      if (done.length === 1) ids.push(await self.step('pack', () => done.push('pack')))
      if (!isMended) throw new TerminalError('not today')
      self.reply([...ids, await self.step('mail', () => done.push('mail'))])
    },
  })
  await using troupe = await TestTroupe.start({ workers: { worker } })
  const session = await troupe.create('worker')
  for (const tries of [1, 2]) {
    expect(await awaitResult(session), `attempt ${tries}`).toMatchObject({ status: 'failed', run: 1 })
    await expectSound(troupe)
    isMended = tries === 2
    expect(await session.retry()).toEqual({ run: 1, step: 'message inbox-0 (input)' })
  }
  expect(await awaitResult(session)).toMatchObject({ status: 'completed', value: [1, 3] })
  expect(done).toEqual(['charge', 'pack', 'mail'])
  await expectSound(troupe)
})

test('a handler that failed at the last result of its children receives that result again', async () => {
  let failures = 1
  const child = defineWorker({ receive: (message, self) => self.reply(message.value) })
  const worker = defineWorker({
    receive(message, self) {
      if (message.kind === 'input') self.spawn('child', 'x')
      else if (failures-- > 0) throw new TerminalError('not today')
      else self.reply(message.value)
    },
  })
  await using troupe = await TestTroupe.start({ workers: { worker, child } })
  const session = await troupe.create('worker')
  expect(await awaitResult(session)).toMatchObject({ status: 'failed' })
  await session.retry()
  expect(await awaitResult(session)).toMatchObject({ status: 'completed', value: 'x' })
  await expectSound(troupe)
})

test('a run of a conversation is retried until the next input begins another', async () => {
  const model = recordedModel('test/m', [refusal, say('one'), say('two')])
  await using troupe = await TestTroupe.start({
    workers: { agent: defineWorker({ instructions: 'x', model, retries: 0 }) },
  })
  const session = await troupe.create('agent', 'go', { keepOpen: true })
  expect(await session.result({ run: 1 })).toMatchObject({ status: 'failed' })
  await session.retry()
  expect(await session.result({ run: 1 })).toMatchObject({ status: 'completed', value: { text: 'one' } })
  await expect(session.retry()).rejects.toThrow(/has not failed/)
  await session.root.send('more')
  expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed', value: { text: 'two' } })
  await expectSound(troupe)
})

test.each(['completed', 'cancelled'])('a session that is %s is not retried', async (state) => {
  const worker = defineWorker({
    receive: (message, self) => (message.value === 'cancelled' ? self.after(60_000, 'x') : self.reply(1)),
  })
  await using troupe = await TestTroupe.start({ workers: { worker } })
  const session = await troupe.create('worker', state)
  if (state === 'cancelled') await session.cancel()
  await awaitResult(session)
  await expect(session.retry()).rejects.toMatchObject({
    code: 'transition_illegal',
    message: expect.stringContaining(state),
  })
})

test('one of many simultaneous retries counts', async () => {
  const inputs: unknown[] = []
  const worker = defineWorker({
    input: z.unknown(),
    receive(message, self) {
      inputs.push(message.value)
      if (inputs.length === 1) throw new TerminalError('not today')
      self.reply(message.value)
    },
  })
  await using troupe = await TestTroupe.start({ workers: { worker } })
  const session = await troupe.create('worker', 'x')
  await awaitResult(session)
  const done = await Promise.allSettled(Array.from({ length: 8 }, () => session.retry()))
  expect(done.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  expect(await awaitResult(session)).toMatchObject({ status: 'completed' })
  expect(inputs).toHaveLength(2)
  await expectSound(troupe)
})

test('a retry waits until the children of the failed run are cancelled, and the run goes on without them', async () => {
  const child = defineWorker({ receive: (_, self) => self.after(3_600_000, 'x') })
  let isMended = false
  const { tool } = counted('pure', () => {
    if (!isMended) throw new TerminalError('no such account')
    return 'seen'
  })
  const spawn = call('spawn_workers', { tasks: [{ kind: 'child', input: 'x' }] }, 'c1')
  const model = recordedModel('test/m', [together(spawn, call('look', {}, 'c2')), say('done')])
  await using troupe = await TestTroupe.start({
    workers: { child, agent: defineWorker({ instructions: 'x', model, tools: [tool], spawns: ['child'] }) },
  })
  const session = await troupe.create('agent', 'go')
  expect(await awaitResult(session)).toMatchObject({ status: 'failed' })
  isMended = true
  expect(await session.retry()).toMatchObject({ step: 'tool call look (c2)' })
  expect(await awaitResult(session)).toMatchObject({ status: 'completed' })
  const [told] = model.requests[1]?.messages.filter(({ role }) => role === 'tool') ?? []
  expect(told).toMatchObject({
    results: [{ output: { value: expect.stringContaining('cancelled') } }, { output: { value: 'seen' } }],
  })
  await expectSound(troupe)
})

test('a handler whose failure cancelled other children is not retried, and the error names them', async () => {
  const child = defineWorker({
    receive: (message, self) => (message.value === 'stay' ? self.after(3_600_000, 'x') : self.reply(1)),
  })
  const worker = defineWorker({
    receive(message, self) {
      if (message.kind !== 'input') throw new TerminalError('not today')
      self.spawn('child', 'go')
      self.spawn('child', 'stay', { name: 'stayer' })
    },
  })
  await using troupe = await TestTroupe.start({ workers: { worker, child } })
  const session = await troupe.create('worker')
  expect(await awaitResult(session)).toMatchObject({ status: 'failed' })
  await expect(session.retry()).rejects.toMatchObject({
    code: 'transition_illegal',
    message: expect.stringContaining('stayer'),
  })
})

test.each([
  ['timer', (self: Self) => self.after(600_000, 'late'), 'its failure dropped 1 timer'],
  ['ask', (self: Self) => self.ask('Anybody?'), 'its failure withdrew 1 ask'],
] as const)('a run whose end closed an open %s cannot go on, and the error says so', async (_what, wait, words) => {
  const worker = defineWorker({
    retries: 0,
    receive(message, self) {
      if (message.kind !== 'input') throw new TerminalError('not yet')
      wait(self)
      self.after(0, 'now')
    },
  })
  await using troupe = await TestTroupe.start({ workers: { worker } })
  const session = await troupe.create('worker')
  expect(await awaitResult(session)).toMatchObject({ status: 'failed' })
  await expect(session.retry()).rejects.toThrow(words)
  await expectSound(troupe)
})
