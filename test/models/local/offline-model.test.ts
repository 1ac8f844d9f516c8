/** The rules OFFLINE-1 to OFFLINE-6 of the offline model. */
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { ModelReply, PromptMessage, ToolSpec } from '../../../src/core/definition/model.ts'
import type { Json } from '../../../src/core/history/chat/chat-message.ts'
import { offlineModel } from '../../../src/models/local/offline-model.ts'
import { toJsonSchema } from '../../../src/runtime/tool/input-form.ts'
import { errorOf, listener, requestOf, user } from '../support/surfaces.ts'

const model = offlineModel()

function tool(name: string, required: readonly string[] = [], properties: readonly string[] = required): ToolSpec {
  const fields = Object.fromEntries(properties.map((field) => [field, {}]))
  return { name, description: name, inputSchema: { type: 'object', properties: fields, required } }
}

function called(toolName: string, output: Json | Error, toolCallId = 'c'): PromptMessage[] {
  const result =
    output instanceof Error
      ? ({ type: 'error-text', value: output.message } as const)
      : ({ type: 'json', value: output } as const)
  return [
    { role: 'assistant', model: 'offline/rules', content: [{ type: 'tool-call', toolCallId, toolName, input: {} }] },
    { role: 'tool', results: [{ toolCallId, toolName, output: result }] },
  ]
}

async function ask(
  instructions: string,
  tools: readonly ToolSpec[],
  messages: readonly PromptMessage[],
): Promise<ModelReply> {
  return await model.reply(requestOf(messages, { instructions, tools }), listener())
}

/** The call it makes, or the text it answers. */
async function next(...args: Parameters<typeof ask>): Promise<unknown> {
  const [block] = (await ask(...args)).content
  return block?.type === 'tool-call' ? [block.toolName, block.input] : block?.type === 'text' && block.text
}

const steps = 'Work in steps.\n1. Call `split`.\n2. If it gave tasks, call `spawn` with them.\n3. Call `report`.'
const tools = [tool('split'), tool('spawn', ['tasks']), tool('report')]

describe('OFFLINE-1: a step is a line with a number and exactly one tool', () => {
  test.each([
    ['1. Call `split`.', true],
    ['  12) Call `split`, and `split` only.', true],
    ['1. Call `split`, not `nosuch`.', true],
    ['Call `split`.', false],
    ['1. Call split.', false],
    ['1. Call `split` or `report`.', false],
    ['1. Call `nosuch`.', false],
    ['- Call `split`.', false],
    ['1.5 times `split`', false],
  ])('%s', async (line, isStep) => {
    expect(Array.isArray(await next(line, tools, [user('go')]))).toBe(isStep)
  })
})

describe('OFFLINE-2: steps are carried out in order, one call for each reply, since the last user message', () => {
  test('steps are carried out from the first to the last', async () => {
    const messages = [user('go')]
    expect(await next(steps, tools, messages)).toEqual(['split', {}])
    messages.push(...called('split', { spawn: { tasks: [1] } }))
    expect(await next(steps, tools, messages)).toEqual(['spawn', { tasks: [1] }])
    messages.push(...called('spawn', ['done']))
    expect(await next(steps, tools, messages)).toEqual(['report', {}])
    messages.push(...called('report', 'fine'))
    expect(await next(steps, tools, messages)).toMatch(/fixed rules/)
    messages.push(user('once more'))
    expect(await next(steps, tools, messages)).toEqual(['split', {}])
  })

  test('the same tool may stand in two steps', async () => {
    const twice = '1. `split`\n2. `split`'
    expect(await next(twice, tools, [user('go'), ...called('split', 1)])).toEqual(['split', {}])
    expect(await next(twice, tools, [user('go'), ...called('split', 1), ...called('split', 2)])).toMatch(/2 times/)
  })

  test('the numbers in ids of calls go on through the whole conversation', async () => {
    const before = [user('go'), ...called('split', 1), ...called('report', 1), user('go')]
    const { content, finishReason } = await ask(steps, tools, before)
    expect({ content, finishReason }).toMatchObject({
      content: [{ toolCallId: 'offline-3' }],
      finishReason: 'tool-calls',
    })
  })
})

describe('OFFLINE-3: arguments', () => {
  const one = '1. Call `spawn`.'

  test('arguments of a step come from the latest result that holds the name of the tool', async () => {
    const messages = [
      user('{"tasks":["asked"]}'),
      ...called('split', { spawn: { tasks: ['old'] } }),
      ...called('report', { spawn: { tasks: ['new'] } }),
      ...called('report', { other: 1 }),
    ]
    const order = '1. `split`\n2. `report`\n3. `report`\n4. `spawn`'
    expect(await next(order, tools, messages)).toEqual(['spawn', { tasks: ['new'] }])
  })

  test('arguments of a step come from a result that is JSON as text', async () => {
    const text = {
      toolCallId: 'c',
      toolName: 'split',
      output: { type: 'text', value: '{"spawn":{"tasks":[7]}}' },
    } as const
    const messages: PromptMessage[] = [...called('split', 0).slice(0, 1), { role: 'tool', results: [text] }]
    expect(await next(`1. \`split\`\n${one}`, tools, [user('go'), ...messages])).toEqual(['spawn', { tasks: [7] }])
  })

  test('arguments of a step come from what another worker said, without the line that names it', async () => {
    const said = '[message from worker 0190/root]\n{"tasks":[1]}'
    expect(await next(one, tools, [user(said)])).toEqual(['spawn', { tasks: [1] }])
  })

  test('arguments of a step come from the user message, without fields that the tool does not know', async () => {
    expect(await next(one, tools, [user('{"tasks":[1],"more":2}')])).toEqual(['spawn', { tasks: [1] }])
  })

  test.each(['{"task":[1]}', '["tasks"]', 'tasks', '{"tasks"'])(
    'arguments of a step are missing if they are not in %s: the step is passed over',
    async (said) => {
      expect(await next(`${one}\n2. \`report\``, tools, [user(said)])).toEqual(['report', {}])
    },
  )

  test('arguments of a step come neither from an error nor from a prototype', async () => {
    const error = new Error('{"spawn":{"tasks":[1]}}')
    expect(await next(`1. \`split\`\n${one}`, tools, [user('go'), ...called('split', error)])).toMatch(/split failed/)
    const odd = [tool('split'), tool('toString', ['x'])]
    const order = '1. `split`\n2. `toString`'
    expect(await next(order, odd, [user('go'), ...called('split', {})])).toMatch(/fixed rules/)
  })
})

test('OFFLINE-4: the next step follows after a failed call', async () => {
  const messages = [user('go'), ...called('split', new Error('no such folder'))]
  expect(await next(steps, tools, messages)).toEqual(['report', {}])
})

describe('OFFLINE-5: the answer', () => {
  test('the answer says what the model is, which tools it called, which failed, and the last result', async () => {
    const messages = [user('go'), ...called('split', new Error('no')), ...called('report', { files: 3 })]
    expect(await next(steps, tools, messages)).toBe(
      "I am troupe's offline model (offline/rules): I follow fixed rules and am no language model." +
        ' I called split, report; split failed. The last result: {"files":3}',
    )
  })

  test('the answer leaves out a long result', async () => {
    const messages = [user('go'), ...called('split', 1), ...called('report', 'x'.repeat(501))]
    expect(await next(steps, tools, messages)).not.toContain('xxx')
  })

  test('the answer without steps says how to get a real model, and repeats the question', async () => {
    const text = await next('You are kind.', tools, [user(`What is the weather? ${'x'.repeat(1_000)}`)])
    expect(text).toContain('fixed rules')
    expect(text).toContain('TROUPE_MODEL=provider/model')
    expect(text).toContain('"What is the weather? xxx')
    expect(String(text).length).toBeLessThan(500)
    const cut = await next('You are kind.', tools, [user(`${'x'.repeat(199)}\u{1f375}`)])
    expect(cut).toMatch(/x\ufffd …"$/)
  })

  test('the answer is streamed word by word, and its tokens are counted', async () => {
    const heard = listener()
    const reply = await model.reply(requestOf([user('hello')]), heard)
    const [block] = reply.content
    expect(heard.deltas.length).toBeGreaterThan(10)
    expect(heard.deltas.map(({ text }) => text).join('')).toBe(block?.type === 'text' && block.text)
    expect(heard.firstByteAt).toBe(0)
    expect(reply).toMatchObject({ model: 'offline/rules', finishReason: 'stop' })
    expect(reply.usage.inputTokens).toBeGreaterThan(5)
    expect(reply.usage.outputTokens).toBeGreaterThan(20)
  })
})

test('an abort ends the call', async () => {
  const reason = new Error('over')
  expect(await errorOf(model.reply(requestOf([user('x')]), listener(AbortSignal.abort(reason))))).toBe(reason)
})

describe('an answer that must be JSON (OFFLINE-6)', () => {
  const output = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
  const answer = async (messages: readonly PromptMessage[], schema: object = output) => {
    const request = requestOf(messages, { instructions: 'x', output: { ...schema } })
    const [block] = (await model.reply(request, listener())).content
    return JSON.parse(block?.type === 'text' ? block.text : '') as unknown
  }

  test('an answer that must be JSON is the latest result that has the fields, else the message, else the simplest value', async () => {
    const messages = [user('{"n":1,"more":2}'), ...called('a', { n: 2 }), ...called('b', { m: 3 }, 'd')]
    expect(await answer(messages)).toEqual({ n: 2 })
    expect(await answer([...messages, ...called('c', { n: 3 }, 'e')])).toEqual({ n: 3 })
    expect(await answer([user('{"n":1,"more":2}')])).toEqual({ n: 1 })
    expect(await answer([user('hello')])).toEqual({ n: 0 })
    // Any object has all fields of a schema that requires none.
    expect(await answer([user('{"n":1}')], { ...output, required: [] })).toEqual({})
  })

  test.each<[Json, z.ZodType]>([
    [
      { a: 'xx', b: [], c: false, d: 'one' },
      z.object({
        a: z.string().min(2),
        b: z.array(z.number()),
        c: z.boolean(),
        d: z.enum(['one', 'two']),
        e: z.string().optional(),
      }),
    ],
    [
      { kind: 'a', n: 3 },
      z.discriminatedUnion('kind', [
        z.object({ kind: z.literal('a'), n: z.int().min(3) }),
        z.object({ kind: z.literal('b') }),
      ]),
    ],
    [[4, 4], z.array(z.number().gt(3)).min(2)],
    [null, z.null()],
  ])('an answer that must be JSON is the simplest value of a schema: %j', async (value, schema) => {
    const made = await answer([user('hello')], toJsonSchema(schema))
    expect(made).toEqual(value)
    expect(schema.safeParse(made).success).toBe(true)
  })

  test.each<[Json, string, object]>([
    ['tea', 'its default', { type: 'string', default: 'tea' }],
    [{ a: 'x', b: 2 }, 'all of its parts', { allOf: [object({ a: { const: 'x' } }), object({ b: { const: 2 } })] }],
    ['', 'of the first of its types', { type: ['string', 'null'] }],
    [nested(5), 'null deep within, where it refers to itself', object({ next: { $ref: '#' } })],
  ])('an answer that must be JSON is the simplest value of a schema: %j, %s', async (value, _, schema) => {
    expect(await answer([user('hello')], schema)).toEqual(value)
  })
})

function object(properties: Readonly<Record<string, object>>) {
  return { type: 'object', properties, required: Object.keys(properties) }
}

function nested(depth: number): Json {
  return depth === 0 ? null : { next: nested(depth - 1) }
}
