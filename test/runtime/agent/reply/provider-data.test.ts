/**
 * What a provider signs, names or numbers goes back to that provider unchanged, under whatever name it answers, and to no other (SDK-PROMPT-2,
 * CALL-ID-1, CALL-ID-2). Over HTTP, through the history.
 */
import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import { defineTool } from '../../../../src/core/definition/tool/define-tool.ts'
import { type FakeSurface, fakeSurfaces, sendEvents } from '../../../support/provider/fake-surfaces.ts'
import { talkToProvider } from '../../../support/provider/provider-talk.ts'

const [chat, responses, anthropic] = fakeSurfaces as [FakeSurface, FakeSurface, FakeSurface]
const look = defineTool({ name: 'look', description: 'Looks.', effect: 'pure', run: () => 'seen' })
const event = (data: { readonly type: string }) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`

/** Signed thinking and a call, by a model that answers with another name than it was asked by. */
function anthropicThought(response: ServerResponse): void {
  const events: { readonly type: string; readonly [name: string]: unknown }[] = [
    {
      type: 'message_start',
      message: {
        id: 'm',
        type: 'message',
        role: 'assistant',
        content: [],
        model: 'claude-sonnet-4-20250514',
        usage: { input_tokens: 1, output_tokens: 1 },
      },
    },
    { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'I should look.' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'c2lnbmVk' } },
    { type: 'content_block_stop', index: 0 },
    {
      type: 'content_block_start',
      index: 1,
      content_block: { type: 'tool_use', id: 'toolu_1', name: 'look', input: {} },
    },
    { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{}' } },
    { type: 'content_block_stop', index: 1 },
    { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 1 } },
    { type: 'message_stop' },
  ]
  sendEvents(response, events.map(event))
}

function responsesThought(response: ServerResponse): void {
  const whole = { id: 'r', object: 'response', created_at: 1, model: 'gpt-5-internal-7', output: [] }
  const thought = { type: 'reasoning', id: 'rs_1', summary: [] }
  const item = { type: 'function_call', id: 'f1', call_id: 'call_1', name: 'look' }
  const events: { readonly type: string; readonly [name: string]: unknown }[] = [
    { type: 'response.created', response: whole },
    { type: 'response.output_item.added', output_index: 0, item: { ...thought, encrypted_content: '' } },
    { type: 'response.output_item.done', output_index: 0, item: { ...thought, encrypted_content: 'c2lnbmVk' } },
    { type: 'response.output_item.added', output_index: 1, item: { ...item, arguments: '' } },
    { type: 'response.output_item.done', output_index: 1, item: { ...item, arguments: '{}', status: 'completed' } },
    {
      type: 'response.completed',
      response: { ...whole, usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 } },
    },
  ]
  sendEvents(response, events.map(event))
}

test.each([
  ['anthropic/claude-sonnet-4-0', anthropic, anthropicThought],
  ['openai/gpt-5', responses, responsesThought],
] as const)(
  'data that %s signed goes back to it, under any name that it answers with, and to no other provider',
  async (model, surface, thought) => {
    const other = `${model}-fast`
    const { results, bodies } = await talkToProvider({
      surface,
      models: [model, other],
      inputs: ['go', 'more'],
      worker: { tools: [look] },
      answer: (_, number) => (number === 1 ? thought : { text: 'Fine.' }),
    })
    expect(results).toMatchObject([{ status: 'completed' }, { status: 'completed' }])
    expect(bodies.map((body) => body.includes('c2lnbmVk'))).toEqual([false, true, false])
  },
)

const oddIds = [
  'x'.repeat(140),
  `call_1__thought__${'Zm9v'.repeat(500)}`,
  'functions.look:0',
  'functions_look_0',
  'functions.look_0',
  'id with spaces / ünd more',
  'plain-1',
]

describe.each([chat, anthropic, responses])('$model', (surface) => {
  test('a provider gets its ids of calls back unchanged; another model gets short, plain and different ones', async () => {
    const { results, bodies } = await talkToProvider({
      surface,
      models: [surface.model, surface.model, `${surface.model}-next`],
      inputs: ['go', 'on', 'other'],
      worker: { tools: [look] },
      answer: (_, number) =>
        number === 1 ? { calls: oddIds.map((id) => ({ id, name: 'look', args: '{}' })) } : { text: 'Fine.' },
    })
    expect(results.map(({ status }) => status)).toEqual(['completed', 'completed', 'completed'])
    const seen = bodies.map((body) => surface.preview(body))
    for (const { callIds, results: answers } of seen.slice(1, 3)) {
      expect(callIds).toEqual(oddIds)
      expect(answers.map(({ id }) => id)).toEqual(oddIds)
    }
    const { callIds, results: answers } = seen[3] as (typeof seen)[number]
    expect(answers.map(({ id }) => id)).toEqual(callIds)
    expect(new Set(callIds).size).toBe(oddIds.length)
    for (const id of callIds) expect(id).toMatch(/^[A-Za-z0-9_-]{1,64}$/)
    expect(callIds.at(-1)).toBe('plain-1')
  })

  test('two calls with the same long id are answered under different ids', async () => {
    const id = 'x'.repeat(500)
    const calls = { calls: [{ id, name: 'look', args: '{}' }] }
    const { results, bodies } = await talkToProvider({
      surface,
      inputs: ['go'],
      worker: { tools: [look] },
      answer: (_, number) => (number < 3 ? calls : { text: 'Fine.' }),
    })
    expect(results).toMatchObject([{ status: 'completed' }])
    const { callIds, results: answers } = surface.preview(bodies.at(-1) ?? '')
    expect(callIds).toEqual([id, expect.not.stringMatching(id)])
    expect(answers.map((answer) => answer.id)).toEqual(callIds)
  })
})

test.each([chat, anthropic, responses])('arguments from $model keep all digits of their numbers', async (surface) => {
  const seen: unknown[] = []
  const find = defineTool({
    name: 'find',
    description: 'Finds.',
    effect: 'pure',
    run: (input) => void seen.push(input),
  })
  const args = '{"id": 12345678901234567890, "n": 3, "list": [9007199254740993]}'
  const { results, bodies } = await talkToProvider({
    surface,
    inputs: ['go'],
    worker: { tools: [find] },
    answer: (_, number) => (number === 1 ? { calls: [{ id: 'c', name: 'find', args }] } : { text: 'Fine.' }),
  })
  expect(results).toMatchObject([{ status: 'completed' }])
  expect(seen).toEqual([{ id: '12345678901234567890', n: 3, list: ['9007199254740993'] }])
  expect(bodies.at(-1)).toContain('12345678901234567890')
})

test('an input with blocks in the format of others fails with a sentence, and the conversation goes on without it', async () => {
  const bad = { content: [{ type: 'image', mime_type: 'image/png', data: 'QkFE' }] }
  const { results, bodies } = await talkToProvider({
    surface: chat,
    inputs: [bad, 'hello'],
    answer: () => ({ text: 'Fine.' }),
  })
  const message = expect.stringMatching(
    /^the input of agent is no list of content blocks: content\[0\] is wrong: mediaType: /,
  )
  expect(results).toMatchObject([
    { status: 'failed', failure: { code: 'input_invalid', message } },
    { status: 'completed' },
  ])
  expect(bodies).toHaveLength(1)
  expect(bodies[0]).not.toContain('QkFE')
})
