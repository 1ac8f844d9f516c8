/** How an agent handles tool calls that end without a result. */
import { expect, test } from 'vitest'
import { defineWorker } from '../../../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../../../src/core/definition/tool/define-tool.ts'
import { TerminalError, TransientError } from '../../../../../src/core/errors.ts'
import { call, say, together } from '../../../../../src/models/local/scripted-model.ts'
import { workerKeys } from '../../../../../src/store/keys.ts'
import { recordedModel } from '../../../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../../../support/test-troupe.ts'
import { waitUntil } from '../../../../support/wait-until.ts'

test.each(['pure', 'idempotent'] as const)(
  'a tool that is %s and exceeds its time is an error for the model',
  async (effect) => {
    const run = () => new Promise<never>(() => {})
    const slow = defineTool({ name: 'slow', description: 'x', effect, approval: 'never', timeoutMs: 20, run })
    const model = recordedModel('test/m', [call('slow'), say('done')])
    await using troupe = await TestTroupe.start({
      workers: { agent: defineWorker({ instructions: 'x', model, tools: [slow] }) },
    })
    const session = await troupe.create('agent')
    expect(await session.result()).toMatchObject({ status: 'completed', value: { text: 'done' } })
    const [result] = (await troupe.history(session.rootId)).filter(({ type }) => type === 'toolResult')
    expect(result).toMatchObject({
      status: 'error',
      output: { value: expect.stringContaining("'slow' did not finish within 20 ms") },
    })
  },
)

test('all `once` tools of a reply that report that nothing took effect run again', async () => {
  const ran: string[] = []
  const both = Promise.withResolvers<void>()
  const flaky = defineTool({
    name: 'flaky',
    description: 'x',
    effect: 'once',
    approval: 'never',
    async run(_, { toolCallId, attempt }) {
      ran.push(`${toolCallId} ${attempt}`)
      if (ran.length === 2) both.resolve()
      await both.promise
      if (attempt === 1) throw new TransientError('try later', { retryAfterMs: 1 })
      return 'done'
    },
  })
  const model = recordedModel('test/m', [together(call('flaky', {}, 'a'), call('flaky', {}, 'b')), say('done')])
  await using troupe = await TestTroupe.start({
    workers: { agent: defineWorker({ instructions: 'x', model, tools: [flaky] }) },
  })
  expect(await troupe.run('agent')).toMatchObject({ status: 'completed', value: { text: 'done' } })
  expect(ran.toSorted()).toEqual(['a 1', 'a 2', 'b 1', 'b 2'])
})

test('a failure that ends the run is recorded while other tools still run, so that a node that takes over knows it', async () => {
  const gate = Promise.withResolvers<void>()
  const slow = defineTool({ name: 'slow', description: 'x', effect: 'pure', run: () => gate.promise })
  const broken = defineTool({
    name: 'broken',
    description: 'x',
    effect: 'pure',
    run() {
      throw new TerminalError('the disk is gone')
    },
  })
  const model = recordedModel('test/m', [together(call('slow'), call('broken'))])
  await using troupe = await TestTroupe.start({
    workers: { agent: defineWorker({ instructions: 'x', model, tools: [slow, broken] }) },
    policy: { lazyCommitMs: 600_000 },
  })
  const session = await troupe.create('agent')
  const recorded = await waitUntil('a result is recorded', async () =>
    (await troupe.history(session.rootId)).find(({ type }) => type === 'toolResult'),
  )
  expect(recorded).toMatchObject({ toolName: 'broken', failure: { message: 'the disk is gone' } })
  gate.resolve()
  expect(await session.result()).toMatchObject({ status: 'failed', failure: { message: 'the disk is gone' } })
})

test('a fact that a tool set before it failed is a fact of the run', async () => {
  const half = defineTool({
    name: 'half',
    description: 'x',
    effect: 'pure',
    run(_, { setFact }) {
      setFact('found', 1)
      throw new Error('then it broke')
    },
  })
  const model = recordedModel('test/m', [call('half'), say('done')])
  await using troupe = await TestTroupe.start({
    workers: { agent: defineWorker({ instructions: 'x', model, tools: [half] }) },
  })
  expect(await troupe.run('agent')).toMatchObject({ value: { text: 'done', facts: { found: 1 } } })
})

test('a run with more facts than a result may hold fails, and its answer is in its history', async () => {
  const gather = defineTool({
    name: 'await',
    description: 'x',
    effect: 'pure',
    run(_, { setFact }) {
      for (const name of ['one', 'two']) setFact(name, 'x'.repeat(600_000))
    },
  })
  const model = recordedModel('test/m', [call('await'), say('gathered')])
  await using troupe = await TestTroupe.start({
    workers: { agent: defineWorker({ instructions: 'x', model, tools: [gather] }) },
  })
  const session = await troupe.create('agent')
  expect(await session.result()).toMatchObject({ status: 'failed', failure: { code: 'message_too_big' } })
  expect((await troupe.history(session.rootId)).slice(-2)).toMatchObject([
    { type: 'assistant', content: [{ text: 'gathered' }] },
    { type: 'failed' },
  ])
})

test('after a reply the record counts no failed attempts any more', async () => {
  const seen: unknown[] = []
  const look = defineTool({
    name: 'look',
    description: 'x',
    effect: 'idempotent',
    async run(_, { workerId }) {
      seen.push(await troupe.redis.hget(workerKeys(troupe.tag, workerId).record, 'attempt'))
    },
  })
  const model = recordedModel('test/m', [new TransientError('busy', { retryAfterMs: 1 }), call('look'), say('done')])
  await using troupe = await TestTroupe.start({
    workers: { agent: defineWorker({ instructions: 'x', model, tools: [look] }) },
    policy: { modelBackoffMs: 1 },
  })
  expect(await troupe.run('agent')).toMatchObject({ status: 'completed' })
  expect(seen).toEqual(['0'])
})
