/** Functions of a kind that steer the loop of its agent: before and after tool calls, and when its model has answered. */
import { pino } from 'pino'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type {
  AgentHooks,
  AnswerToCheck,
  CallResult,
  CallToCheck,
} from '../../../../src/core/definition/agent/agent-hooks.ts'
import type { AgentWorker } from '../../../../src/core/definition/agent/define-agent.ts'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../../src/core/definition/tool/define-tool.ts'
import { ConfigError, TransientError } from '../../../../src/core/errors.ts'
import { call, type ScriptedReply, say, together } from '../../../../src/models/local/scripted-model.ts'
import { expectSound, openAsks, resultOf, scripted, told } from '../../../support/person/approvals.ts'
import { runOnce } from '../../../support/provider/run-agent.ts'
import { TestTroupe } from '../../../support/test-troupe.ts'

const nameTool = (ran: unknown[]) =>
  defineTool({
    name: 'greet',
    description: 'Greets.',
    effect: 'idempotent',
    input: z.object({ name: z.string() }),
    run: ({ name }) => `greeted ${ran.push(name) && name}`,
  })

async function run(hooks: AgentHooks, script: readonly ScriptedReply[], more: Partial<AgentWorker> = {}) {
  const ran: unknown[] = []
  const model = scripted(...script)
  const made = await runOnce({ instructions: 'x', model, tools: [nameTool(ran)], hooks, ...more })
  return { ...made, ran, model, [Symbol.asyncDispose]: () => made.troupe[Symbol.asyncDispose]() }
}

const greet = (name: unknown, id?: string) => call('greet', { name: name as string }, id)
const types = (history: readonly { readonly type: string }[]) => history.map(({ type }) => type)

describe('toolBefore', () => {
  test('toolBefore is asked about each call that may run, and lets it run, changes it or refuses it [1.61]', async () => {
    const asked: CallToCheck[] = []
    const toolBefore: NonNullable<AgentHooks['toolBefore']> = (one, { kind, run: number, log }) => {
      log.info(`${kind} ${number}`)
      asked.push(one)
      const { name } = one.input as { name: string }
      if (name === 'Ada') return { do: 'change', arguments: { name: 'Lady Ada' } }
      return name === 'Bob' ? { do: 'refuse', reason: 'Bob is away' } : undefined
    }
    const calls = together(greet('Ada', 'a'), greet('Bob', 'b'), greet('Cy', 'c'), greet(1, 'd'), call('seek', {}, 'e'))
    await using made = await run({ toolBefore }, [calls, say('Done.')])
    expect(asked.map(({ toolCallId }) => toolCallId)).toEqual(['a', 'b', 'c'])
    expect(asked[0]).toEqual({ toolCallId: 'a', toolName: 'greet', input: { name: 'Ada' } })
    expect(made.ran).toEqual(['Lady Ada', 'Cy'])
    expect(told(made.model)).toEqual([
      'greeted Lady Ada',
      "Error: this call of 'greet' was refused: Bob is away. It was not run.",
      'greeted Cy',
      expect.stringContaining("invalid arguments for 'greet'"),
      expect.stringContaining("unknown tool 'seek'"),
    ])
    expect(made.history.find(({ type }) => type === 'callsDecided')).toMatchObject({
      calls: [
        { toolCallId: 'a', arguments: { name: 'Lady Ada' } },
        { toolCallId: 'b', refused: expect.stringContaining('Bob is away') },
        { toolCallId: 'c' },
        { toolCallId: 'd' },
        { toolCallId: 'e' },
      ],
    })
    // The conversation holds the call as the model made it.
    expect(JSON.stringify(made.model.requests.at(-1)?.messages[1])).toContain('"name":"Ada"')
    await expectSound(made.troupe)
  })

  test.each<[string, NonNullable<AgentHooks['toolBefore']>, RegExp]>([
    [
      'that throws',
      () => Promise.reject(new Error('no list')),
      /was not run, because the check before it failed: no list\./,
    ],
    ['that answers nonsense', () => 'yes' as never, /the check before it failed: it answered "yes"\./],
    [
      'that changes arguments to what is no JSON',
      () => ({ do: 'change', arguments: 1n as never }),
      /the check before it failed/,
    ],
    [
      'that changes arguments to what does not fit',
      () => ({ do: 'change', arguments: {} }),
      /invalid arguments for 'greet'/,
    ],
  ])('a toolBefore hook that %s refuses the call (HOOKS-2)', async (_what, toolBefore, text) => {
    await using made = await run({ toolBefore }, [greet('Ada'), say('Done.')])
    expect(made.ran).toEqual([])
    expect(told(made.model)).toEqual([expect.stringMatching(text)])
    expect(made.result).toMatchObject({ status: 'completed' })
  })

  test('toolBefore is asked before a person, who sees the changed arguments, and is not asked again (HOOKS-1)', async () => {
    let asked = 0
    const ran: unknown[] = []
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      effect: 'once',
      input: z.object({ cents: z.number() }),
      run: ({ cents }) => `paid ${ran.push(cents) && cents}`,
    })
    const toolBefore: NonNullable<AgentHooks['toolBefore']> = () => ({ do: 'change', arguments: { cents: ++asked } })
    const model = scripted(call('pay', { cents: 500 }, 'p'), say('Done.'))
    const clerk = defineWorker({ instructions: 'x', model, tools: [pay], hooks: { toolBefore } })
    await using troupe = await TestTroupe.start({ workers: { clerk } })
    const session = await troupe.create('clerk')
    const [ask] = await openAsks(troupe)
    expect(ask?.details).toMatchObject({ arguments: { cents: 1 } })
    await troupe.client.asks.answer(ask?.id as string, 'approve')
    await resultOf(session)
    expect(ran).toEqual([1])
    expect(asked).toBe(1)
    await expectSound(troupe)
  })

  test('toolBefore is not asked again about a call that is tried again', async () => {
    let [asked, tries] = [0, 0]
    const seen: unknown[] = []
    const flaky = defineTool({
      name: 'flaky',
      description: 'Fails once.',
      effect: 'idempotent',
      input: z.object({ n: z.number() }),
      run: ({ n }) => {
        seen.push(n)
        if (tries++ === 0) throw new TransientError('busy', { retryAfterMs: 1 })
        return 'ok'
      },
    })
    const toolBefore: NonNullable<AgentHooks['toolBefore']> = () => ({ do: 'change', arguments: { n: ++asked } })
    await using made = await run({ toolBefore }, [call('flaky', { n: 0 }), say('Done.')], { tools: [flaky] })
    expect(made.result).toMatchObject({ status: 'completed' })
    expect(seen).toEqual([1, 1])
  })

  test('a toolBefore hook that does not answer in time refuses the call [1.61]', async () => {
    const model = scripted(greet('Ada'), say('Done.'))
    const ran: unknown[] = []
    const hooks = { toolBefore: () => new Promise<void>(() => {}) }
    const clerk = defineWorker({ instructions: 'x', model, tools: [nameTool(ran)], hooks })
    await using troupe = await TestTroupe.start({ workers: { clerk }, policy: { hookMs: 30 } })
    expect(await troupe.run('clerk')).toMatchObject({ status: 'completed' })
    expect(told(model)).toEqual([expect.stringContaining('did not finish within 30 ms')])
    expect(ran).toEqual([])
  })
})

describe('toolAfter', () => {
  test('toolAfter sees each result in the order of the calls, and its text follows the results [1.61]', async () => {
    const seen: CallResult[] = []
    const toolAfter: NonNullable<AgentHooks['toolAfter']> = (result) => {
      seen.push(result)
      return result.toolCallId === 'b' ? undefined : `Note on ${result.toolCallId}.`
    }
    const calls = together(greet('Ada', 'a'), greet('Bob', 'b'), call('seek', {}, 'c'))
    await using made = await run({ toolAfter }, [calls, say('Done.')])
    expect(seen.map(({ toolCallId, status }) => [toolCallId, status])).toEqual([
      ['a', 'ok'],
      ['b', 'ok'],
      ['c', 'error'],
    ])
    expect(made.model.requests[1]?.messages.slice(-2)).toMatchObject([
      { role: 'tool' },
      { role: 'user', content: [{ type: 'text', text: 'Note on a.\n\nNote on c.' }] },
    ])
    expect(types(made.history).slice(-4)).toEqual(['hooked', 'user', 'assistant', 'completed'])
    await expectSound(made.troupe)
  })

  test('toolAfter is asked once for each reply, also if another turn goes on behind it (TOOL-AFTER-1)', async () => {
    let asked = 0
    const model = scripted(greet('Ada'), greet('Bob'), say('Done.'))
    const hooks = { toolAfter: () => void asked++ }
    const clerk = defineWorker({ instructions: 'x', model, tools: [nameTool([])], hooks })
    await using troupe = await TestTroupe.start({ workers: { clerk }, policy: { turnSliceSteps: 0.5 } })
    const session = await troupe.create('clerk')
    await resultOf(session)
    expect(asked).toBe(2)
    expect(types(await troupe.history(session.rootId)).filter((type) => type === 'hooked')).toHaveLength(2)
  })

  test.each<[string, NonNullable<AgentHooks['toolAfter']>, RegExp]>([
    [
      'that throws',
      () => {
        throw new Error('no ink')
      },
      /no ink.*hooks\.toolAfter of clerk failed; nothing is added to the result/,
    ],
    ['that returns no text', () => ({}) as never, /hooks\.toolAfter returned an object, which is no text/],
  ])('a toolAfter hook that %s adds nothing, and is logged (HOOKS-2)', async (_what, toolAfter, line) => {
    const lines: string[] = []
    const model = scripted(greet('Ada'), say('Done.'))
    const clerk = defineWorker({ instructions: 'x', model, tools: [nameTool([])], hooks: { toolAfter } })
    const logger = pino({ level: 'info' }, { write: (text: string) => void lines.push(text) })
    await using troupe = await TestTroupe.start({ workers: { clerk }, logger })
    expect(await troupe.run('clerk')).toMatchObject({ status: 'completed' })
    expect(model.requests[1]?.messages.at(-1)).toMatchObject({ role: 'tool' })
    expect(lines.join('')).toMatch(line)
  })

  test('toolAfter adds at most 10 KiB for a result [1.61]', async () => {
    await using made = await run({ toolAfter: () => 'é'.repeat(10_000) }, [greet('Ada'), say('Done.')])
    const text = JSON.stringify(made.model.requests[1]?.messages.at(-1))
    expect(text).toMatch(/é\\n\[Output cut: it has 20000 bytes; only the first 10240 are shown\.\]/)
  })
})

describe('stop', () => {
  test('the stop hook may ask for more than the answer, three times in a run [1.61]', async () => {
    const seen: AnswerToCheck[] = []
    const stop: NonNullable<AgentHooks['stop']> = (answer) => {
      seen.push(answer)
      return `More than ${answer.text}, please.`
    }
    await using made = await run({ stop }, [say('One'), say('Two'), say('Three'), say('Four'), say('Five')])
    expect(made.result).toMatchObject({ status: 'completed', value: { text: 'Four' } })
    expect(seen.map(({ text, asked }) => [text, asked])).toEqual([
      ['One', 0],
      ['Two', 1],
      ['Three', 2],
    ])
    expect(made.model.requests[1]?.messages.slice(-2)).toMatchObject([
      { role: 'assistant', content: [{ text: 'One' }] },
      { role: 'user', content: [{ text: 'More than One, please.' }] },
    ])
    await expectSound(made.troupe)
  })

  test('the stop hook asks for nothing behind the last model call that a run may make', async () => {
    await using made = await run({ stop: () => 'More.' }, [say('One'), say('Two'), say('Three')], {
      limits: { iterations: 2 },
    })
    expect(made.result).toMatchObject({ status: 'completed', value: { text: 'Two' } })
  })

  test.each<[string, NonNullable<AgentHooks['stop']>]>([
    ['that throws', () => Promise.reject(new Error('no clock'))],
    ['that says nothing', () => ' '],
    ['that returns no text', () => true as never],
  ])('a stop hook that %s lets the answer stand (HOOKS-2)', async (_what, stop) => {
    await using made = await run({ stop }, [say('One')])
    expect(made.result).toMatchObject({ status: 'completed', value: { text: 'One' } })
    expect(types(made.history)).toEqual(['user', 'assistant', 'completed'])
  })

  test('the stop hook is named by the trace of the iteration', async () => {
    const traces: unknown[] = []
    const onIteration: AgentWorker['onIteration'] = ({ trace, decision }) => void traces.push([decision.type, ...trace])
    let asked = false
    const stop = () => {
      const text = asked ? null : 'More.'
      asked = true
      return text
    }
    await using made = await run({ stop }, [say('One'), say('Two')], { onIteration })
    expect(made.result).toMatchObject({ value: { text: 'Two' } })
    expect(traces).toEqual([
      ['continue', 'parse_no_tools', 'loop_continue'],
      ['done', 'parse_no_tools'],
    ])
  })
})

test.each([1, { after: () => 1 }, { stop: 'no' }])('the hooks %j throw a ConfigError', (hooks) => {
  expect(() => defineWorker({ instructions: 'x', hooks: hooks as never })).toThrow(ConfigError)
})

test('a hook that goes on after its run was cancelled changes nothing', async () => {
  const asked = Promise.withResolvers<AbortSignal>()
  const answer = Promise.withResolvers<undefined>()
  const hooks: AgentHooks = {
    toolBefore: (_call, { signal }) => {
      asked.resolve(signal)
      return answer.promise
    },
  }
  const ran: unknown[] = []
  const clerk = defineWorker({
    instructions: 'x',
    model: scripted(greet('Ada'), say('never')),
    tools: [nameTool(ran)],
    hooks,
  })
  await using troupe = await TestTroupe.start({ workers: { clerk } })
  const session = await troupe.create('clerk')
  const signal = await asked.promise
  await session.cancel()
  expect(await resultOf(session)).toMatchObject({ status: 'cancelled' })
  expect(signal.aborted).toBe(true)
  answer.resolve(undefined)
  expect(types(await troupe.history(session.rootId))).toEqual(['user', 'assistant', 'toolResult', 'cancelled'])
  expect(ran).toEqual([])
  await expectSound(troupe)
})
