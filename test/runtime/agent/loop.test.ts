/** The loop of an agent: input, model, tools, answer. Checks the recorded entries and the prompts. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import { call, type ScriptedReply, say, together } from '../../../src/models/local/scripted-model.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { recordedModel } from '../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../support/test-troupe.ts'

const double = defineTool({
  name: 'double',
  description: 'Doubles a number.',
  effect: 'pure',
  input: z.object({ n: z.number() }),
  run: ({ n }) => n * 2,
})

describe('an agent', () => {
  test('an agent answers an input [1.11, 1.15]', async () => {
    const model = recordedModel('test/one', [say('Hello back.')])
    await using troupe = await TestTroupe.start({
      workers: { greeter: defineWorker({ instructions: 'Greet.', model }) },
    })
    const session = await troupe.create('greeter', 'Hello')
    expect(await session.result()).toMatchObject({ status: 'completed', value: { text: 'Hello back.' } })
    const history = await troupe.history(session.rootId)
    expect(history.map(({ type }) => type)).toEqual(['user', 'assistant', 'completed'])
    expect(history[1]).toMatchObject({ content: [{ type: 'text', text: 'Hello back.' }] })
    expect(model.requests).toHaveLength(1)
    expect(model.requests[0]).toMatchObject({
      instructions: 'Greet.',
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hello' }] }],
    })
  })

  test('an agent cuts a very long name that a provider gives its model', async () => {
    const model = recordedModel('test/one', [{ ...say('Hello.'), model: `test/${'x'.repeat(100_000)}` }])
    await using troupe = await TestTroupe.start({
      workers: { greeter: defineWorker({ instructions: 'Greet.', model }) },
    })
    const session = await troupe.create('greeter', 'Hello')
    expect(await session.result()).toMatchObject({ status: 'completed', value: { text: 'Hello.' } })
    const [reply] = (await troupe.history(session.root.id)).filter(({ type }) => type === 'assistant')
    expect(reply).toMatchObject({ model: `test/${'x'.repeat(315)}` })
  })

  test('an agent gives each call a unique id (CHAT-2), even if the model chose an id that would be generated for another call', async () => {
    const [longest, tooLong] = ['x'.repeat(128), 'y'.repeat(129)]
    const calls = ['call-1-1-2', '', longest, tooLong].map((id, n) => call('double', { n }, id))
    const model = recordedModel('test/one', [together(...calls), say('2 and 4.')])
    await using troupe = await TestTroupe.start({
      workers: { doubler: defineWorker({ instructions: 'Double.', model, tools: [double] }) },
    })
    expect(await troupe.run('doubler', '1 and 2')).toMatchObject({ status: 'completed' })
    const last = model.requests[1]?.messages.at(-1)
    const ids = last?.role === 'tool' ? last.results.map(({ toolCallId }) => toolCallId) : []
    expect(ids).toEqual(['call-1-1-2', 'call-1-1-2_', longest, 'call-1-1-4'])
    await expectInvariants(troupe.redis, troupe.namespace)
  })

  test('an agent runs tools side by side and returns their results in call order; what is wrong with a call is its result [2.6, 4.16]', async () => {
    let [now, most] = [0, 0]
    const slow = defineTool({
      ...double,
      async run({ n }) {
        most = Math.max(most, ++now)
        await new Promise((resolve) => setImmediate(resolve))
        now--
        return n * 2
      },
    })
    const model = recordedModel('test/one', [
      together(
        call('double', { n: 1 }, 'a'),
        call('double', { n: 2 }, 'b'),
        call('halve', {}, 'c'),
        call('double', { n: 'x' }, 'd'),
      ),
      say('2 and 4.'),
    ])
    await using troupe = await TestTroupe.start({
      workers: { doubler: defineWorker({ instructions: 'Double.', model, tools: [slow] }) },
    })
    const session = await troupe.create('doubler', '1 and 2')
    expect(await session.result()).toMatchObject({ status: 'completed', value: { text: '2 and 4.' } })
    expect(most).toBe(2)
    const last = model.requests[1]?.messages.at(-1)
    expect(last).toMatchObject({
      role: 'tool',
      results: [
        { toolCallId: 'a', output: { type: 'json', value: 2 } },
        { toolCallId: 'b', output: { type: 'json', value: 4 } },
        { toolCallId: 'c', output: { type: 'error-text', value: "Error: unknown tool 'halve'. Available: double" } },
        {
          toolCallId: 'd',
          output: { type: 'error-text', value: expect.stringContaining("invalid arguments for 'double'") },
        },
      ],
    })
    const types = (await troupe.history(session.rootId)).map(({ type }) => type)
    expect(types.filter((type) => type === 'toolResult')).toHaveLength(4)
    expect(types.slice(0, 2)).toEqual(['user', 'assistant'])
    expect(types.slice(-2)).toEqual(['assistant', 'completed'])
  })

  test('an agent sends its tools with each request, and nothing of them is in the history [1.41]', async () => {
    const model = recordedModel('test/one', [call('double', { n: 1 }), say('2.')])
    await using troupe = await TestTroupe.start({
      workers: { doubler: defineWorker({ instructions: 'Double.', model, tools: [double] }) },
    })
    const session = await troupe.create('doubler', '1')
    await session.result()
    expect(model.requests.map(({ tools }) => tools.map(({ name, description }) => [name, description]))).toEqual([
      [['double', 'Doubles a number.']],
      [['double', 'Doubles a number.']],
    ])
    const history = JSON.stringify(await troupe.history(session.rootId))
    expect(history).not.toMatch(/Doubles a number|"tools"|[sS]chema/)
  })

  test('an agent runs no call whose arguments were cut off, and tells the model so', async () => {
    const ran: unknown[] = []
    const wipe = defineTool({
      name: 'wipe',
      description: 'Wipes a folder, or all of them.',
      effect: 'idempotent',
      input: z.object({ folder: z.string().optional() }),
      run: (input) => ran.push(input),
    })
    const cut = (...calls: ScriptedReply[]) => ({ ...together(...calls), finishReason: 'length' as const })
    const unread = {
      type: 'tool-call',
      toolCallId: 'd',
      toolName: 'wipe',
      input: null,
      inputText: '{"folder": "/t',
    } as const
    const model = recordedModel('test/one', [
      cut(call('wipe', { folder: '/a' }, 'a'), call('wipe', {}, 'b')),
      cut(call('wipe', {}, 'c'), { content: [unread] }),
      say('wiped'),
    ])
    await using troupe = await TestTroupe.start({
      workers: { wiper: defineWorker({ instructions: 'Wipe.', model, tools: [wipe] }) },
    })
    expect(await troupe.run('wiper', 'wipe')).toMatchObject({ status: 'completed' })
    expect(ran).toEqual([{ folder: '/a' }, {}])
    const told = {
      type: 'error-text',
      value: expect.stringContaining('was cut off at the length that a reply may have'),
    }
    const outputs = [1, 2].map((number) => {
      const last = model.requests[number]?.messages.at(-1)
      return last?.role === 'tool' ? last.results.map(({ output }) => output) : []
    })
    expect(outputs).toEqual([
      [expect.anything(), told],
      [expect.anything(), told],
    ])
  })

  test('an agent spawns workers and gets their results in the order of the tasks [4.19]', async () => {
    const parent = recordedModel('test/parent', [
      call('spawn_workers', { tasks: ['x', 'y', 'z'].map((input) => ({ kind: 'child', input })) }),
      say('done'),
    ])
    const child = recordedModel('test/child', (request) => {
      const text = JSON.stringify(
        request.messages[0]?.role === 'user' &&
          request.messages[0].content.map((block) => 'text' in block && block.text.slice(-1)),
      )
      if (text.includes('y')) return Object.assign(new Error('no'), {})
      return say(text.includes('x') ? 'was x' : '{"summary":"was z","details":[1]}')
    })
    await using troupe = await TestTroupe.start({
      workers: {
        parent: defineWorker({ instructions: 'Delegate.', model: parent, spawns: ['child'] }),
        child: defineWorker({ instructions: 'Work.', model: child, retries: 0 }),
      },
    })
    expect(await troupe.run('parent', 'go')).toMatchObject({ status: 'completed', value: { text: 'done' } })
    const last = parent.requests[1]?.messages.at(-1) as unknown as { results: { output: { value: unknown } }[] }
    expect(last.results[0]?.output.value).toMatchObject([
      { kind: 'child', status: 'completed', summary: 'was x', details: 'was x' },
      { status: 'failed', failure: { message: 'no' } },
      { status: 'completed', summary: 'was z', details: [1] },
    ])
  })
})
