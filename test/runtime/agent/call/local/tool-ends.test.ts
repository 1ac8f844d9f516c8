/** How an agent handles tool calls that end without a result, and tools that fail. */
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../../../src/core/definition/tool/define-tool.ts'
import { TerminalError, TransientError } from '../../../../../src/core/errors.ts'
import { call, say, together } from '../../../../../src/models/local/scripted-model.ts'
import { workerKeys } from '../../../../../src/store/keys.ts'
import { recordedModel } from '../../../../support/provider/recorded-model.ts'
import { runOnce, tool } from '../../../../support/provider/run-agent.ts'
import { TestTroupe } from '../../../../support/test-troupe.ts'
import { waitUntil } from '../../../../support/time/wait-until.ts'

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

test('the record counts no failed attempts any more after a reply', async () => {
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

describe('a tool that fails', () => {
  test('a tool whose failure may pass counts as running while it waits for its retry', async () => {
    const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let tries = 0
    const flaky = tool(
      'flaky',
      async () => {
        if (++tries === 1) throw new TransientError('try later', { retryAfterMs: 1 })
        begun.resolve()
        await gate.promise
      },
      'once',
    )
    const model = recordedModel('test/m', [call('flaky'), say('ok')])
    const agent = defineWorker({ instructions: 'x', model, tools: [flaky] })
    await using troupe = await TestTroupe.start({ workers: { agent } })
    const session = await troupe.create('agent', 'go')
    await begun.promise
    expect(await session.root.report()).toMatchObject({ run: 'ExecutingTools', lastFailure: { message: 'try later' } })
    gate.resolve()
    expect(await session.result()).toMatchObject({ status: 'completed' })
  })

  test('a tool whose failure may pass is called again, then its error goes to the model [3.4, 3.14]', async () => {
    let tries = 0
    const model = recordedModel('test/m', [call('flaky'), say('ok')])
    const flaky = tool('flaky', () => {
      tries++
      throw new TransientError('try later', { retryAfterMs: 1 })
    })
    const { troupe, result, history } = await runOnce({ instructions: 'x', model, tools: [flaky], retries: 2 })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed' })
    expect(tries).toBe(3)
    const failures = history.filter(({ type }) => type === 'attemptFailed')
    expect(failures).toMatchObject([{ failure: { origin: 'tool' } }, { failure: { origin: 'tool' } }])
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({ results: [{ output: { type: 'error-text' } }] })
  })

  test('a tool that fails beside others is the only one that is called again, with the number of its attempt', async () => {
    const seen: string[] = []
    const noting = (name: string, fails: number) =>
      defineTool({
        name,
        description: 'x',
        effect: 'idempotent',
        run: (_, { attempt }) => {
          seen.push(`${name} ${attempt}`)
          if (attempt <= fails) throw new TransientError('try later', { retryAfterMs: 1 })
          return attempt
        },
      })
    const model = recordedModel('test/m', [together(call('fine'), call('flaky'), call('fine')), say('ok')])
    const tools = [noting('fine', 0), noting('flaky', 2)]
    const { troupe, result, history } = await runOnce({ instructions: 'x', model, tools })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed' })
    expect(seen.toSorted((one, other) => (one < other ? -1 : 1))).toEqual([
      'fine 1',
      'fine 1',
      'flaky 1',
      'flaky 2',
      'flaky 3',
    ])
    expect(history.filter(({ type }) => type === 'attemptFailed')).toHaveLength(2)
  })

  test('a tool that fails with a TerminalError lets no other call begin', async () => {
    const ran: string[] = []
    const broken = tool('broken', () => {
      throw new TerminalError('the disk is gone')
    })
    const model = recordedModel('test/m', [together(call('first'), call('broken'), call('last'))])
    const tools = [tool('first', () => ran.push('first')), broken, tool('last', () => ran.push('last'))]
    const agent = defineWorker({ instructions: 'x', model, tools })
    await using troupe = await TestTroupe.start({ workers: { agent }, policy: { toolsAtOnce: 1 } })
    const session = await troupe.create('agent', 'go')
    expect(await session.result()).toMatchObject({ status: 'failed', failure: { message: 'the disk is gone' } })
    expect(ran).toEqual(['first'])
    const results = (await troupe.history(session.rootId)).flatMap((entry) =>
      entry.type === 'toolResult' ? [entry.status] : [],
    )
    expect(results).toEqual(['ok', 'error', 'cancelled'])
  })

  test('a tool that fails with a TerminalError fails the run [3.14]', async () => {
    const model = recordedModel('test/m', [call('broken')])
    const broken = tool('broken', () => {
      throw new TerminalError('the disk is gone')
    })
    const { troupe, result } = await runOnce({ instructions: 'x', model, tools: [broken] })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'failed', failure: { message: 'the disk is gone', origin: 'tool' } })
  })
})

test.each(['a reply', 'a recipe'])(
  'a node that drains begins no further call of %s: another node does (PERMIT-6)',
  async (of) => {
    const began: string[] = []
    const first = Promise.withResolvers<void>()
    const send = defineTool({
      name: 'send',
      description: 'Sends.',
      effect: 'once',
      approval: 'never',
      async run(_, { toolCallId }) {
        began.push(toolCallId)
        if (began.length === 1) await first.promise
        return 'sent'
      },
    })
    const serial = ['a', 'b'].map((label) => ({ tool: 'send', label }))
    const recipe = defineTool({ name: 'all', description: 'Sends.', recipe: () => ({ serial }) })
    const calls = of === 'a reply' ? together(call('send', {}, 'a'), call('send', {}, 'b')) : call('all', {}, 'a')
    const agent = defineWorker({
      instructions: 'x',
      model: recordedModel('test/m', [calls, say('done')]),
      tools: [send, recipe],
      limits: { toolsAtOnce: 1 },
    })
    await using troupe = await TestTroupe.start({ workers: { agent } })
    const session = await troupe.create('agent')
    await waitUntil('the first call runs', () => began.length === 1)
    const stopping = troupe.nodes[0]?.stop()
    first.resolve()
    await stopping
    expect(began).toHaveLength(1)
    await troupe.startNode({ agent })
    expect(await session.result()).toMatchObject({ status: 'completed', value: { text: 'done' } })
    expect(began).toHaveLength(2)
  },
)
