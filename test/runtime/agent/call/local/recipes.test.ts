/** Tools that are recipes: calls of other tools, one after the other, then side by side, and one result. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { startNode } from '../../../../../src/compose.ts'
import type { AgentWorker } from '../../../../../src/core/definition/agent/define-agent.ts'
import { defineWorker } from '../../../../../src/core/definition/define-worker.ts'
import { defineTool, type Tool } from '../../../../../src/core/definition/tool/define-tool.ts'
import type { Recipe } from '../../../../../src/core/definition/tool/recipe.ts'
import { TerminalError, TransientError } from '../../../../../src/core/errors.ts'
import { call, say } from '../../../../../src/models/local/scripted-model.ts'
import { expectSound, openAsks, resultOf, scripted, told } from '../../../../support/person/approvals.ts'
import { runOnce, tool } from '../../../../support/provider/run-agent.ts'
import { TestTroupe } from '../../../../support/test-troupe.ts'
import { waitUntil } from '../../../../support/time/wait-until.ts'

const recipeOf = (recipe: Recipe<never>, more = {}) =>
  defineTool({ name: 'report', description: 'Reports.', recipe, ...more })
const double = defineTool({
  name: 'double',
  description: 'Doubles.',
  effect: 'pure',
  input: z.object({ n: z.number() }),
  run: ({ n }) => 2 * n,
})
const broken = tool('broken', () => Promise.reject(new Error('no paper')))

/** What the model reads about the one call, when the call has been run. */
async function outputOf(tools: readonly Tool[], input = {}, more: Partial<AgentWorker> = {}) {
  const model = scripted(call('report', input, 'r'), say('Done.'))
  const made = await runOnce({ instructions: 'x', model, tools, ...more })
  return { ...made, output: told(model)[0], model, [Symbol.asyncDispose]: () => made.troupe[Symbol.asyncDispose]() }
}

describe('a recipe', () => {
  test('a recipe runs steps one after the other, then side by side, and makes one text of them [2.17]', async () => {
    const report = recipeOf(({ n }: { n: number }) => ({
      serial: [
        { tool: double, arguments: { n }, label: 'twice' },
        { tool: 'broken' },
        { tool: 'double', arguments: (serial) => ({ n: serial.double as number }), label: 'four times' },
      ],
      parallel: [
        { tool: 'double', arguments: (serial) => ({ n: serial.double as number }), label: 'eight times' },
        { tool: 'double', arguments: { n: 'x' }, label: 'wrong' },
      ],
    }))
    await using made = await outputOf([report, double, broken], { n: 3 })
    expect(made.output).toBe(
      [
        '## Sequential Results',
        '### Step 1: twice\n\n6',
        '### Step 2: four times\n\n12',
        '## Additional Results',
        '### eight times\n\n24',
        '## Errors',
        "- **broken**: no paper\n- **wrong**: invalid arguments for 'double': n: expected number, received string",
      ].join('\n\n'),
    )
    expect(made.history.map(({ type }) => type)).toEqual([
      'user',
      'assistant',
      ...Array.from({ length: 5 }, () => 'subCall'),
      'toolResult',
      'assistant',
      'completed',
    ])
    await expectSound(made.troupe)
  })

  test('a recipe composes its result by itself, from what its steps returned and how they failed [2.17]', async () => {
    const seen: unknown[] = []
    const report = recipeOf(() => ({
      serial: [{ tool: 'double', arguments: { n: 1 } }],
      parallel: [{ tool: 'broken' }, { tool: 'double', arguments: { n: 2 }, label: 'b' }],
      compose: async (parts) => {
        seen.push(parts)
        return { sum: 6 }
      },
    }))
    await using made = await outputOf([report, double, broken])
    expect(made.output).toEqual({ sum: 6 })
    expect(seen).toEqual([
      {
        serialResults: [{ label: 'double', tool: 'double', output: 2 }],
        parallelResults: [{ label: 'b', tool: 'double', output: 4 }],
        errors: [{ label: 'broken', tool: 'broken', error: 'no paper' }],
      },
    ])
  })

  test('a recipe gets its arguments as the schema of its tool returns them', async () => {
    const input = z.object({ url: z.string().transform((text) => new URL(text)) })
    const recipe = defineTool({
      name: 'report',
      description: 'Reports.',
      input,
      recipe: ({ url }) => ({ serial: [{ tool: double, arguments: { n: url.pathname.length } }] }),
    })
    await using made = await outputOf([recipe, double], { url: 'https://example.com/abc' })
    expect(made.output).toContain('8')
  })

  test.each([1, 2])('a recipe of %d steps gets as much of a long output as any other', async (steps) => {
    const long = tool('long', () => 'x'.repeat(300_000))
    const recipe = recipeOf(() => ({
      serial: Array.from({ length: steps }, () => ({ tool: 'long' })),
      compose: ({ serialResults: [first] }) =>
        ((first?.output ?? '') as string).replace(/x+/, (all) => `${all.length}: `),
    }))
    await using made = await outputOf([recipe, long])
    expect(made.output).toMatch(/^200000: \n\[Output cut: it has 300000 bytes/)
  })

  test('a recipe runs three parallel steps at a time', async () => {
    let [now, most] = [0, 0]
    const wait = tool('wait', async () => {
      most = Math.max(most, ++now)
      await new Promise((resolve) => setTimeout(resolve, 20))
      now--
    })
    const report = recipeOf(() => ({ parallel: Array.from({ length: 7 }, () => ({ tool: wait })) }))
    await using made = await outputOf([report, wait])
    expect(made.output).toContain('### wait')
    expect(most).toBe(3)
  })

  test.each<[string, Recipe<never>, RegExp]>([
    [
      'that throws',
      () => {
        throw new Error('no plan')
      },
      /^Recipe evaluation error: no plan$/,
    ],
    [
      'that is asynchronous',
      () => Promise.reject(new Error('later')) as never,
      /^Recipe evaluation error: it returned a promise, and must return its steps at once$/,
    ],
    [
      'whose steps are none',
      () => ({ serial: 'double' as never }),
      /^Recipe evaluation error: serial must be a list of steps, not "double"$/,
    ],
    [
      'with a step of no tool',
      () => ({ parallel: [{} as never] }),
      /parallel\[0\]\.tool must be a tool or its name, not undefined/,
    ],
    [
      'with too many steps',
      () => ({ serial: Array.from({ length: 129 }, () => ({ tool: 'double' })) }),
      /it has 129 steps; a recipe may have 128/,
    ],
    [
      'whose compose throws',
      () => ({
        serial: [{ tool: 'double', arguments: { n: 1 } }],
        compose: () => {
          throw new Error('no ink')
        },
      }),
      /^Recipe evaluation error: no ink$/,
    ],
    ['without steps and without run', () => null, /^No results produced\.$/],
    [
      'with a step of an unknown tool',
      () => ({ serial: [{ tool: 'treble' }] }),
      /- \*\*treble\*\*: unknown tool 'treble'/,
    ],
    [
      'with a recipe as a step',
      () => ({ serial: [{ tool: 'report' }] }),
      /- \*\*report\*\*: 'report' is a recipe, and recipes do not nest/,
    ],
    [
      'with arguments that cannot be made',
      () => ({
        serial: [
          {
            tool: 'double',
            arguments: () => {
              throw new Error('no n')
            },
          },
        ],
      }),
      /- \*\*double\*\*: its arguments could not be made: no n/,
    ],
  ])('a recipe %s tells the model so [2.17]', async (_what, recipe, text) => {
    await using made = await outputOf([recipeOf(recipe), double])
    expect(made.result).toMatchObject({ status: 'completed', value: { text: 'Done.' } })
    expect(made.output).toMatch(text)
  })

  test('a recipe without steps runs by the run of its tool, and a tool with both may be a step of another recipe', async () => {
    const both = defineTool({
      name: 'both',
      description: 'Both.',
      effect: 'pure',
      input: z.looseObject({ deep: z.boolean().optional() }),
      recipe: ({ deep }) => (deep ? { serial: [{ tool: 'double', arguments: { n: 1 } }] } : null),
      run: ({ deep }) => `ran ${deep === true ? 'deep' : 'flat'}`,
    })
    const report = recipeOf(() => ({ serial: [{ tool: both, arguments: { deep: true } }] }))
    await using made = await outputOf([report, both, double])
    expect(made.output).toContain('ran deep')
    const model = scripted(call('both', {}), call('both', { deep: true }), say('Done.'))
    const { troupe } = await runOnce({ instructions: 'x', model, tools: [both, double] })
    await using _ = troupe
    expect(told(model)).toEqual(['ran flat', '## Sequential Results\n\n### Step 1: double\n\n2'])
  })

  test('a recipe comes from the resolver of the tools, if that has one', async () => {
    const plain = defineTool({ name: 'report', description: 'Reports.', effect: 'pure', run: () => 'plain' })
    const tools = {
      availableTools: () => [plain, double],
      resolve: ({ toolName }: { toolName: string }) => (toolName === 'report' ? plain : double),
      dispatchRecipe: (name: string) =>
        name === 'report' ? () => ({ parallel: [{ tool: 'double', arguments: { n: 4 } }] }) : null,
    }
    const model = scripted(call('report'), call('double', { n: 1 }), say('Done.'))
    const { troupe } = await runOnce({ instructions: 'x', model, tools })
    await using _ = troupe
    expect(told(model)).toEqual(['## Additional Results\n\n### double\n\n8', 2])
  })

  test('a recipe gives the facts of its steps to the run, and measures each of them', async () => {
    const spans: unknown[] = []
    const telemetry = {
      startSpan(name: string, { label, phase, tool: name_ }: Record<string, unknown>) {
        if (name === 'sub_call') spans.push({ label, phase, tool: name_ })
        return { end: () => {} }
      },
      count: () => {},
    }
    const weigh = defineTool({
      name: 'weigh',
      description: 'Weighs.',
      effect: 'idempotent',
      run: (_input, context) => context.setFact(context.toolCallId, context.idempotencyKey),
    })
    const report = recipeOf(() => ({ serial: [{ tool: weigh }], parallel: [{ tool: weigh, label: 'again' }] }))
    const model = scripted(call('report', {}, 'r'), say('Done.'))
    const clerk = defineWorker({ instructions: 'x', model, tools: [report, weigh] })
    await using troupe = await TestTroupe.connect()
    const { redisUrl, namespace } = troupe
    await using _node = await startNode({ redisUrl, namespace, workers: { clerk }, telemetry })
    const session = await troupe.create('clerk')
    const key = `${session.rootId}/1/r`
    expect(await resultOf(session)).toMatchObject({
      value: {
        facts: {
          'r/serial_1_weigh': `${key}/serial_1_weigh`,
          'r/parallel_1_weigh': `${key}/parallel_1_weigh`,
        },
      },
    })
    expect(spans).toEqual([
      { label: 'weigh', phase: 'serial', tool: 'weigh' },
      { label: 'again', phase: 'parallel', tool: 'weigh' },
    ])
  })
})

describe('a step of a recipe', () => {
  const pays: string[] = []
  const pay = (more = {}) =>
    defineTool({ name: 'pay', description: 'Pays.', effect: 'once', run: () => `paid ${pays.push('paid')}`, ...more })
  const payment = (more = {}) => recipeOf(() => ({ serial: [{ tool: 'pay' }] }), more)

  test.each<[string, Partial<AgentWorker>, RegExp]>([
    [
      'that needs an approval',
      { tools: [payment(), pay()] },
      /needs the approval of a person, and nobody approved its recipe/,
    ],
    [
      'that is dangerous',
      { tools: [payment(), pay({ dangerous: true })] },
      /needs the approval of a person, each time/,
    ],
    [
      'that a rule forbids',
      { tools: [payment(), pay()], approval: { deny: ['pay'] } },
      /this call of 'pay' is forbidden/,
    ],
    [
      'that spawns',
      { tools: [recipeOf(() => ({ serial: [{ tool: 'ask_person', arguments: { question: '?' } }] }))], asks: true },
      /cannot be a step of a recipe/,
    ],
  ])('a step %s does not run, and the model learns it', async (_what, more, text) => {
    pays.length = 0
    await using made = await outputOf([], {}, more)
    expect(made.output).toMatch(text)
    expect(pays).toEqual([])
  })

  test('a step that the permissions of its worker do not name does not run', async () => {
    pays.length = 0
    const model = scripted(call('report'), say('Done.'))
    const clerk = defineWorker({ instructions: 'x', model, tools: [payment(), pay({ approval: 'never' })] })
    await using troupe = await TestTroupe.start({ workers: { clerk } })
    await troupe.run('clerk', 'go', { permissions: { tools: ['report'] } })
    expect(told(model)[0]).toContain("unknown tool 'pay'")
    expect(pays).toEqual([])
  })

  test('a step that needs an approval runs if a person approved the recipe', async () => {
    pays.length = 0
    const model = scripted(call('report'), say('Done.'))
    const clerk = defineWorker({ instructions: 'x', model, tools: [payment({ approval: 'always' }), pay()] })
    await using troupe = await TestTroupe.start({ workers: { clerk } })
    const session = await troupe.create('clerk')
    const [ask] = await openAsks(troupe)
    expect(ask?.details).toMatchObject({ tool: 'report' })
    await troupe.client.asks.answer(ask?.id as string, 'approve')
    await resultOf(session)
    expect(pays).toEqual(['paid'])
    expect(told(model)[0]).toContain('paid 1')
  })

  test('a step whose failure may pass is tried again, and steps that have ended are not', async () => {
    const ran: string[] = []
    let failures = 2
    const flaky = tool('flaky', () => {
      ran.push('flaky')
      if (failures-- > 0) throw new TransientError('busy', { retryAfterMs: 1 })
      return 'ok'
    })
    const first = tool('first', () => ran.push('first'), 'once')
    const report = recipeOf(() => ({ serial: [{ tool: first }, { tool: flaky }], parallel: [{ tool: first }] }))
    await using made = await outputOf([report, first, flaky])
    expect(ran).toEqual(['first', 'flaky', 'flaky', 'flaky', 'first'])
    expect(made.output).toContain('### Step 2: flaky\n\nok')
    expect(made.history.filter(({ type }) => type === 'attemptFailed')).toHaveLength(2)
    await expectSound(made.troupe)
  })

  test('a step of a `once` tool that failed for a while is tried again', async () => {
    let failures = 1
    const flaky = tool(
      'flaky',
      () => {
        if (failures-- > 0) throw new TransientError('busy', { retryAfterMs: 1 })
        return 'ok'
      },
      'once',
    )
    await using made = await outputOf([recipeOf(() => ({ serial: [{ tool: flaky }] })), flaky])
    expect(made.output).toContain('### Step 1: flaky\n\nok')
  })

  test('a step that ends the run does so, and the run says why', async () => {
    const end = tool('end', () => Promise.reject(new TerminalError('no more paper')))
    await using made = await outputOf([recipeOf(() => ({ serial: [{ tool: end }] })), end])
    expect(made.result).toMatchObject({ status: 'failed', failure: { message: 'no more paper', origin: 'tool' } })
    await expectSound(made.troupe)
  })

  test('a step of a `once` tool makes the outcome of its call unknown if the run is cancelled while it runs', async () => {
    const started = Promise.withResolvers<void>()
    const slow = tool(
      'slow',
      () => {
        started.resolve()
        return new Promise(() => {})
      },
      'once',
    )
    const model = scripted(call('report', {}, 'r'), say('never'))
    const clerk = defineWorker({
      instructions: 'x',
      model,
      tools: [recipeOf(() => ({ serial: [{ tool: slow }] })), slow],
    })
    await using troupe = await TestTroupe.start({ workers: { clerk } })
    const session = await troupe.create('clerk')
    await started.promise
    await session.cancel()
    await resultOf(session)
    const results = (await troupe.history(session.rootId)).filter(({ type }) => type === 'toolResult')
    expect(results).toMatchObject([{ toolCallId: 'r', status: 'unknown' }])
    await waitUntil('it is sound', async () => (await troupe.client.audit()).findings.length === 0)
  })
})
