/** What code of a kind sees of each iteration, and what followers of a session are told of it. */
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import type { AgentWorker } from '../../../../src/core/definition/agent/define-agent.ts'
import type { IterationContext } from '../../../../src/core/definition/agent/iteration-context.ts'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../../src/core/definition/tool/define-tool.ts'
import { ConfigError, TerminalError } from '../../../../src/core/errors.ts'
import { call, say, together } from '../../../../src/models/local/scripted-model.ts'
import { recordedModel } from '../../../support/provider/recorded-model.ts'
import { runOnce, tool } from '../../../support/provider/run-agent.ts'
import { TestTroupe } from '../../../support/test-troupe.ts'
import { awaitEvents } from '../../../support/time/await-session.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'

const look = tool('look', () => 'seen')

async function iterationsOf(worker: Omit<AgentWorker, 'instructions'>) {
  const seen: IterationContext[] = []
  const { troupe, result, history } = await runOnce({
    instructions: 'x',
    ...worker,
    onIteration: (context) => void seen.push(context),
  })
  await waitUntil('the last iteration was told', () => seen.at(-1)?.decision.type !== 'continue')
  return { troupe, result, history, seen }
}

describe('onIteration', () => {
  test('onIteration gets what the design says of an iteration, when the results are there', async () => {
    const script = [together(say('I look.'), call('look', {}, 'a'), call('seek', {}, 'b')), say('Seen.')]
    const { troupe, seen } = await iterationsOf({ model: recordedModel('test/m', script), tools: [look] })
    await using _ = troupe
    expect(seen).toHaveLength(2)
    const [first, last] = seen as [IterationContext, IterationContext]
    expect(first).toMatchObject({
      messages: [{ type: 'user' }],
      tools: [{ name: 'look' }],
      response: { model: 'test/m', finishReason: 'tool-calls', content: [{ type: 'text' }, {}, {}] },
      iteration: 0,
      maxIterations: 10,
      toolCalls: [{ toolCallId: 'a' }, { toolCallId: 'b' }],
      validationErrors: [{ toolCallId: 'b', toolName: 'seek', text: "Error: unknown tool 'seek'. Available: look" }],
      status: 'ok',
      error: null,
    })
    expect(first.toolResults.map(({ toolCallId }) => toolCallId).sort()).toEqual(['a', 'b'])
    expect(first.resultMessages.map(({ type }) => type)).toEqual(['assistant', 'toolResult', 'toolResult'])
    expect(first.decision).toEqual({ type: 'continue', messages: [...first.messages, ...first.resultMessages] })
    expect(last).toMatchObject({ iteration: 1, toolCalls: [], resultMessages: [], status: 'ok' })
    expect(last.messages).toEqual([...first.messages, ...first.resultMessages])
    expect(last.decision).toEqual({ type: 'done', response: last.response })
  })

  test.each([
    [
      'calls that run, and an answer',
      {},
      [together(call('look'), call('look')), say('ok')],
      [
        [
          'parse_tool_calls',
          'validate_calls',
          'budget_ok',
          'approve_all',
          'dispatch_2',
          'inject_results',
          'loop_continue',
        ],
        ['parse_no_tools'],
      ],
      ['continue', 'done'],
    ],
    [
      'calls that are all invalid',
      {},
      [call('seek'), say('ok')],
      [
        [
          'parse_tool_calls',
          'validate_calls',
          'budget_ok',
          'approve_all',
          'dispatch_0',
          'inject_results',
          'loop_continue',
        ],
        ['parse_no_tools'],
      ],
      ['continue', 'done'],
    ],
    ['a blank reply', {}, [say(''), say('ok')], [['parse_blank_stop'], ['parse_no_tools']], ['blankStop', 'done']],
    [
      'an earlier text that is the answer in the end',
      { nudge: '' },
      [together(say('I look.'), call('look')), say(''), say(''), say('')],
      [
        expect.arrayContaining(['dispatch_1']),
        ['parse_blank_stop'],
        ['parse_blank_stop'],
        ['parse_blank_stop', 'loop_done_fallback'],
      ],
      ['continue', 'blankStop', 'blankStop', 'done'],
    ],
    [
      'a call that ends the run',
      { tools: [defineTool({ name: 'submit', description: 'Hands in.', terminal: true })] },
      [call('submit')],
      [['parse_tool_calls', 'validate_calls', 'terminal_tool']],
      ['done'],
    ],
    [
      'calls of the last allowed reply',
      { limits: { iterations: 1 } },
      [call('look')],
      [['parse_tool_calls', 'validate_calls', 'budget_exceeded_iterations']],
      ['error'],
    ],
    [
      'more calls than a run may make',
      { limits: { toolCalls: 1 } },
      [together(call('look'), call('look'))],
      [['parse_tool_calls', 'validate_calls', 'budget_exceeded_tool_calls']],
      ['error'],
    ],
    [
      'a text that was cut off, and goes on',
      {},
      [{ ...say('One, t'), finishReason: 'length' as const }, say('wo.')],
      [['parse_no_tools', 'loop_continue'], ['parse_no_tools']],
      ['continue', 'done'],
    ],
    [
      'a tool that ends the run',
      { tools: [tool('look', () => Promise.reject(new TerminalError('broken')))] },
      [call('look')],
      [['parse_tool_calls', 'validate_calls', 'budget_ok', 'approve_all', 'dispatch_1']],
      ['error'],
    ],
  ])(
    'onIteration learns from the trace what each stage did with %s [2.3, 2.12]',
    async (_what, worker, script, traces, decisions) => {
      const model = recordedModel('test/m', script)
      const { troupe, seen } = await iterationsOf({ model, tools: [look], ...worker })
      await using _ = troupe
      expect(seen.map(({ trace }) => trace)).toEqual(traces)
      expect(seen.map(({ decision }) => decision.type)).toEqual(decisions)
      const { status, error } = seen.at(-1) as IterationContext
      expect(status).toBe(decisions.at(-1) === 'error' ? 'error' : 'ok')
      expect(error === null).toBe(status === 'ok')
    },
  )

  test('onIteration gets a context that it cannot change', async () => {
    const problems: unknown[] = []
    const model = recordedModel('test/m', [call('look'), say('ok')])
    const { troupe, result } = await runOnce({
      instructions: 'x',
      model,
      tools: [look],
      onIteration(context) {
        const { messages, response } = context as unknown as { messages: unknown[]; response: { content: object[] } }
        for (const change of [
          () => messages.push('x'),
          () => Object.assign(response.content[0] ?? {}, { text: 'x' }),
        ]) {
          try {
            change()
          } catch (thrown) {
            problems.push(thrown)
          }
        }
      },
    })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed', value: { text: 'ok' } })
    expect(problems.length).toBeGreaterThanOrEqual(2)
    expect(problems.every((one) => one instanceof TypeError)).toBe(true)
  })

  test.each([
    ['that throws', () => Promise.reject(new Error('no disk')), /no disk.*iteration-context\.test\.ts/],
    ['that does not end', () => new Promise<void>(() => {}), /did not finish within 50 ms/],
  ])('%s changes nothing, and is logged once for each iteration', async (_what, onIteration, reason) => {
    const lines: string[] = []
    const model = recordedModel('test/m', [call('look'), say('ok')])
    await using troupe = await TestTroupe.start({
      workers: { agent: defineWorker({ instructions: 'x', model, tools: [look], onIteration }) },
      logger: pino({ level: 'info' }, { write: (line: string) => void lines.push(line) }),
      policy: { hookMs: 50 },
    })
    expect(await troupe.run('agent')).toMatchObject({ status: 'completed', value: { text: 'ok' } })
    const failed = () => lines.filter((line) => line.includes('onIteration of agent failed; the run goes on'))
    await waitUntil('both were logged', () => failed().length === 2)
    expect(failed()[0]).toMatch(reason)
  })

  test('onIteration is called in the turn that ends an iteration which another turn began', async () => {
    const seen: IterationContext[] = []
    const model = recordedModel('test/m', [call('look', {}, 'a'), say('ok')])
    const onIteration = (context: IterationContext) => void seen.push(context)
    await using troupe = await TestTroupe.start({
      workers: { agent: defineWorker({ instructions: 'x', model, tools: [look], onIteration }) },
      // Each step has a turn of its own.
      policy: { turnSliceSteps: 0.5 },
    })
    expect(await troupe.run('agent')).toMatchObject({ status: 'completed' })
    await waitUntil('both are told', () => seen.length === 2)
    expect(seen[0]).toMatchObject({ iteration: 0, response: { model: 'test/m' }, toolResults: [{ toolCallId: 'a' }] })
    expect(seen[0]?.messages.map(({ type }) => type)).toEqual(['user'])
    expect(seen.map(({ decision }) => decision.type)).toEqual(['continue', 'done'])
  })

  test('onIteration gets the number of the run, even for the iteration that ended it', async () => {
    const runs: number[] = []
    const model = recordedModel('test/m', [call('look'), say('ok')])
    const onIteration = (_context: IterationContext, { run }: { run: number }) => void runs.push(run)
    const { troupe } = await runOnce({ instructions: 'x', model, tools: [look], onIteration })
    await using _ = troupe
    await waitUntil('both are told', () => runs.length === 2)
    expect(runs).toEqual([1, 1])
  })

  test('onIteration must be a function', () => {
    expect(() => defineWorker({ instructions: 'x', onIteration: 'log' as never })).toThrow(ConfigError)
  })
})

test('followers of a session see each iteration with its trace, and nothing of it is stored [2.12]', async () => {
  const following = Promise.withResolvers<void>()
  const model = recordedModel('test/m', async (_, n) => {
    await following.promise
    return n === 2 ? call('look') : say('ok')
  })
  await using troupe = await TestTroupe.start({
    workers: { agent: defineWorker({ instructions: 'x', model, tools: [look] }) },
  })
  const session = await troupe.create('agent', 'first', { keepOpen: true })
  const told: unknown[] = []
  for await (const event of awaitEvents(session)) {
    const { type, details, transient } = event
    // By then the node knows that somebody follows.
    if (transient) following.resolve()
    if (type === 'run.completed') await session.root.send('second')
    if (type === 'iteration.completed' && details.run === 2) told.push({ type, transient, ...details })
    if (told.length === 2) break
  }
  expect(told).toEqual([
    {
      type: 'iteration.completed',
      transient: true,
      run: 2,
      iteration: 0,
      decision: 'continue',
      calls: 1,
      trace: [
        'parse_tool_calls',
        'validate_calls',
        'budget_ok',
        'approve_all',
        'dispatch_1',
        'inject_results',
        'loop_continue',
      ],
    },
    {
      type: 'iteration.completed',
      transient: true,
      run: 2,
      iteration: 1,
      decision: 'done',
      calls: 0,
      trace: ['parse_no_tools'],
    },
  ])
})
