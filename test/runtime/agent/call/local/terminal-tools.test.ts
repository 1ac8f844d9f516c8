/** A call of a terminal tool ends the run, and is not run. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTool } from '../../../../../src/core/definition/tool/define-tool.ts'
import { ConfigError } from '../../../../../src/core/errors.ts'
import { call, say, together } from '../../../../../src/models/local/scripted-model.ts'
import { recordedModel } from '../../../../support/provider/recorded-model.ts'
import { runOnce, tool } from '../../../../support/provider/run-agent.ts'

const submit = defineTool({
  name: 'submit',
  description: 'Hands in the report.',
  terminal: true,
  input: z.object({ title: z.string(), pages: z.number().default(1) }),
})

describe('a call of a terminal tool', () => {
  test('a call of a terminal tool ends the run with its arguments, also at the last iteration [2.15]', async () => {
    const model = recordedModel('test/m', [together(say('Here.'), call('submit', { title: 'T' }, 'c1'))])
    const { troupe, session, result } = await runOnce({
      instructions: 'x',
      model,
      tools: [submit],
      limits: { iterations: 1 },
    })
    await using _ = troupe
    expect(result).toMatchObject({
      status: 'completed',
      value: { text: 'Here.', output: { title: 'T', pages: 1 }, terminalTool: 'submit' },
    })
    expect(model.requests).toHaveLength(1)
    const entries = (await session.root.history()).map(({ entry }) => entry)
    expect(entries.map(({ type }) => type)).toEqual(['user', 'assistant', 'toolResult', 'completed'])
    expect(entries[2]).toMatchObject({ toolCallId: 'c1', status: 'ok' })
  })

  test('a call of a terminal tool keeps the other calls of its reply from running, before and behind it', async () => {
    let runs = 0
    const count = tool('count', () => ++runs)
    const model = recordedModel('test/m', [together(call('count'), call('submit', { title: 'T' }), call('count'))])
    const { troupe, history, result } = await runOnce({ instructions: 'x', model, tools: [count, submit] })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed', value: { output: { title: 'T' } } })
    expect(runs).toBe(0)
    const results = history.filter(({ type }) => type === 'toolResult')
    expect(results.map((entry) => entry.type === 'toolResult' && entry.status)).toEqual(['error', 'ok', 'error'])
    expect(JSON.stringify(results[0])).toContain("'submit' in the same reply ended the run")
  })

  test('a terminal tool called with wrong arguments is answered with what is wrong', async () => {
    const model = recordedModel('test/m', [call('submit', { title: 1 }), call('submit', { title: 'T' })])
    const { troupe, result } = await runOnce({ instructions: 'x', model, tools: [submit] })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed', value: { output: { title: 'T' } } })
    expect(JSON.stringify(model.requests[1]?.messages.at(-1))).toMatch(/invalid arguments for 'submit': title/)
  })

  test('a call of a terminal tool must have arguments that fit the output of the kind too', async () => {
    const model = recordedModel('test/m', [call('submit', { title: 'T' }), call('submit', { title: 'Long' })])
    const output = z.object({ title: z.string().min(3) }).transform(({ title }) => title.toUpperCase())
    const { troupe, result } = await runOnce({ instructions: 'x', model, tools: [submit], output })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed', value: { output: 'LONG' } })
  })

  test('a terminal tool that a rule forbids ends nothing', async () => {
    const model = recordedModel('test/m', [call('submit', { title: 'T' }), say('Then not.')])
    const { troupe, result } = await runOnce({
      instructions: 'x',
      model,
      tools: [submit],
      approval: { deny: ['submit'] },
    })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed', value: { text: 'Then not.' } })
  })

  test('a terminal tool that a resolver finds ends the run too', async () => {
    const model = recordedModel('test/m', [together(call('count'), call('hand_in', { title: 'T' }))])
    let runs = 0
    const count = tool('count', () => ++runs)
    const tools = {
      availableTools: () => [count],
      resolve: ({ toolName }: { toolName: string }) => (toolName === 'hand_in' ? submit : count),
    }
    const { troupe, result } = await runOnce({ instructions: 'x', model, tools })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed', value: { output: { title: 'T' }, terminalTool: 'submit' } })
    expect(runs).toBe(0)
  })

  test('a call of a terminal tool leaves the conversation in a state that can go on', async () => {
    const model = recordedModel('test/m', [together(call('count'), call('submit', { title: 'T' })), say('Yes.')])
    const { troupe, session } = await runOnce({ instructions: 'x', model, tools: [tool('count', () => 1), submit] })
    await using _ = troupe
    await session.root.send('And?')
    expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed', value: { text: 'Yes.' } })
    expect(model.requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'user'])
  })
})

test('terminal must be true or false', () => {
  const wrong = { name: 'x', description: 'x', effect: 'pure', terminal: 'yes', run: () => 1 } as never
  expect(() => defineTool(wrong)).toThrow(ConfigError)
  const recipe = () => ({ serial: [], parallel: [] })
  expect(() => defineTool({ name: 'x', description: 'x', terminal: true, recipe } as never)).toThrow(/has no recipe/)
})
