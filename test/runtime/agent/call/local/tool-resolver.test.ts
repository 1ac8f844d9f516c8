/** Tools that are known only when an agent runs: what a resolver offers, and what a call resolves to. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Resolution, ToolResolver, WrittenCall } from '../../../../../src/core/definition/agent/tool-resolver.ts'
import { defineWorker } from '../../../../../src/core/definition/define-worker.ts'
import { defineTool, type Tool } from '../../../../../src/core/definition/tool/define-tool.ts'
import { ConfigError } from '../../../../../src/core/errors.ts'
import { call, say, together } from '../../../../../src/models/local/scripted-model.ts'
import { expectSound, openAsks, resultOf, scripted, told } from '../../../../support/person/approvals.ts'
import { runOnce, tool } from '../../../../support/provider/run-agent.ts'
import { TestTroupe } from '../../../../support/test-troupe.ts'

const look = tool('look', () => 'looked')
const seek = defineTool({
  name: 'seek',
  description: 'Seeks.',
  effect: 'pure',
  input: z.object({ what: z.string() }),
  run: ({ what }) => `sought ${what}`,
})

const resolver = (tools: readonly Tool[], resolve: (call: WrittenCall) => Resolution | Promise<Resolution>) => ({
  availableTools: () => tools,
  resolve,
})
const byName = (tools: readonly Tool[]) =>
  resolver(tools, ({ toolName }) => tools.find(({ name }) => name === toolName))

describe('a resolver of tools', () => {
  test('a resolver of tools offers the tools of the moment to the model, and resolves its calls [2.16]', async () => {
    const model = scripted(call('look'), call('seek', { what: 'ada' }), say('Done.'))
    let turns = 0
    const tools: ToolResolver = {
      availableTools: async () => (turns++ < 1 ? [look] : [look, seek]),
      resolve: ({ toolName }) => [look, seek].find(({ name }) => name === toolName),
    }
    const clerk = defineWorker({ instructions: 'x', model, tools })
    await using troupe = await TestTroupe.start({ workers: { clerk }, policy: { turnSliceSteps: 1 } })
    expect(await troupe.run('clerk')).toMatchObject({ status: 'completed', value: { text: 'Done.' } })
    expect(model.requests.map(({ tools: offered }) => offered.map(({ name }) => name))).toEqual([
      ['look'],
      ['look', 'seek'],
      ['look', 'seek'],
    ])
    expect(told(model)).toEqual(['looked', 'sought ada'])
  })

  test('tools that a resolver lists in another order are offered in the same one, so that prompts begin alike', async () => {
    const model = scripted(call('look'), call('look'), say('Done.'))
    let turns = 0
    const availableTools = () => (turns++ % 2 === 0 ? [seek, look] : [look, seek])
    const clerk = defineWorker({ instructions: 'x', model, tools: { availableTools, resolve: () => look } })
    await using troupe = await TestTroupe.start({ workers: { clerk }, policy: { turnSliceSteps: 1 } })
    expect(await troupe.run('clerk')).toMatchObject({ status: 'completed' })
    expect(turns).toBeGreaterThan(1)
    for (const { tools } of model.requests) expect(tools.map(({ name }) => name)).toEqual(['look', 'seek'])
  })

  test('a resolver of tools can be used with a limit, options of the model and a callback for each iteration [2.1]', async () => {
    const model = scripted(call('look'), call('seek', { what: 'ada' }), say('never'))
    const seen: unknown[] = []
    const { troupe, result } = await runOnce({
      instructions: 'x',
      model,
      tools: byName([look, seek]),
      limits: { iterations: 2 },
      settings: { temperature: 0.2 },
      onIteration: ({ iteration, maxIterations, tools, decision }) =>
        void seen.push([iteration, maxIterations, tools.map(({ name }) => name), decision.type]),
    })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'failed', failure: { code: 'iterations_exceeded' } })
    expect(model.requests.map(({ settings }) => settings)).toEqual([{ temperature: 0.2 }, { temperature: 0.2 }])
    expect(seen).toEqual([
      [0, 2, ['look', 'seek'], 'continue'],
      [1, 2, ['look', 'seek'], 'error'],
    ])
  })

  test('a resolver of tools may give a call to another tool, whose name and schema then hold [2.16]', async () => {
    const seen: WrittenCall[] = []
    const tools = resolver([seek], (written) => {
      seen.push(written)
      return seek
    })
    const model = scripted(together(call('find', { what: 'a' }, 'a'), call('find', { what: 1 }, 'b')), say('Done.'))
    const { troupe, history } = await runOnce({ instructions: 'x', model, tools })
    await using _ = troupe
    expect(seen[0]).toEqual({ toolCallId: 'a', toolName: 'find', input: { what: 'a' } })
    expect(told(model)).toEqual(['sought a', expect.stringContaining("invalid arguments for 'seek'")])
    expect(history.find(({ type }) => type === 'callsDecided')).toMatchObject({
      calls: [
        { toolCallId: 'a', tool: 'seek' },
        { toolCallId: 'b', tool: 'seek' },
      ],
    })
    await expectSound(troupe)
  })

  test.each<[string, (call: WrittenCall) => Resolution, RegExp]>([
    [
      'that refuses a call',
      () => ({ refuse: 'Not on Sundays.' }),
      /of 'look' was refused: Not on Sundays\. It was not run/,
    ],
    ['that knows no such tool', () => null, /unknown tool 'look'\. Available: look/],
    [
      'that fails',
      () => {
        throw new Error('no list')
      },
      /could not be resolved: no list/,
    ],
    ['that answers nonsense', () => ({ refuse: 1 }) as never, /answered neither a tool nor/],
  ])('%s runs nothing, and the model learns it', async (_what, resolve, text) => {
    const ran: string[] = []
    const model = scripted(call('look'), say('Done.'))
    const { troupe, result } = await runOnce({
      instructions: 'x',
      model,
      tools: resolver([tool('look', () => ran.push('look'))], resolve),
    })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'completed', value: { text: 'Done.' } })
    expect(told(model)).toEqual([expect.stringMatching(text)])
    expect(ran).toEqual([])
  })

  test('a resolver of tools gives a worker no tool that its permissions do not name [2.16]', async () => {
    const ran: string[] = []
    const tools = resolver([look], () => tool('wipe', () => ran.push('wiped')))
    const model = scripted(call('look'), say('Done.'))
    await using troupe = await TestTroupe.start({
      workers: { clerk: defineWorker({ instructions: 'x', model, tools }) },
    })
    await troupe.run('clerk', 'go', { permissions: { tools: ['look'] } })
    expect(told(model)).toEqual([expect.stringContaining("unknown tool 'wipe'")])
    expect(ran).toEqual([])
  })

  test('a resolver of tools is asked once for a call that a person decides about (RESOLVER-1)', async () => {
    const ran: string[] = []
    const once = (name: string) =>
      defineTool({ name, description: 'Pays.', effect: 'once', run: () => `ran ${ran.push(name)}` })
    const [old, other] = [once('pay_old'), once('pay_new')]
    let asked = 0
    const tools = resolver([old, other], () => (asked++ === 0 ? old : other))
    const model = scripted(call('pay'), say('Done.'))
    await using troupe = await TestTroupe.start({
      workers: { clerk: defineWorker({ instructions: 'x', model, tools }) },
    })
    const session = await troupe.create('clerk')
    const [ask] = await openAsks(troupe)
    expect(ask?.details).toMatchObject({ tool: 'pay_old' })
    await troupe.client.asks.answer(ask?.id as string, 'approve')
    await resultOf(session)
    expect(asked).toBe(2)
    expect(ran).toEqual(['pay_old'])
    expect((await troupe.history(session.rootId)).map(({ type }) => type)).toEqual([
      'user',
      'assistant',
      'callsDecided',
      'asked',
      'received',
      'toolStarted',
      'toolResult',
      'assistant',
      'completed',
    ])
    await expectSound(troupe)
  })

  test.each([
    ['no list', { availableTools: () => 'look', resolve: () => null }, /availableTools must return a list of tools/],
    ['two tools of one name', byName([look, look]), /two tools have the name "look"/],
  ])('a resolver whose list is %s fails the run with a sentence', async (_what, tools, message) => {
    const model = scripted(say('never'))
    const { troupe, result } = await runOnce({ instructions: 'x', model, tools: tools as ToolResolver })
    await using _ = troupe
    expect(result).toMatchObject({ status: 'failed', failure: { message: expect.stringMatching(message) } })
  })

  test('a resolver that never says which tools there are fails the attempt when its time is over', async () => {
    const model = scripted(say('never'))
    const tools: ToolResolver = { availableTools: () => new Promise(() => {}), resolve: () => null }
    const clerk = defineWorker({ instructions: 'x', model, tools, retry: { most: 0 } })
    await using troupe = await TestTroupe.start({ workers: { clerk }, policy: { hookMs: 30 } })
    const message = expect.stringMatching(/availableTools did not finish within 30 ms/)
    expect(await troupe.run('clerk')).toMatchObject({ status: 'failed', failure: { message } })
  })

  test('a resolver of tools must have its functions', () => {
    for (const tools of [{ availableTools: () => [] }, { resolve: () => null }, { availableTools: 1, resolve: 2 }])
      expect(() => defineWorker({ instructions: 'x', tools: tools as never })).toThrow(ConfigError)
  })
})
