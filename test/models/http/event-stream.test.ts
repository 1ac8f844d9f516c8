/** Replies whose streams hold what no protocol knows, or do not end with the reply: over HTTP, for each protocol. */
import type { ServerResponse } from 'node:http'
import { describe, expect, test } from 'vitest'
import type { ModelReply } from '../../../src/core/definition/model.ts'
import type { Usage } from '../../../src/core/history/chat/chat-message.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { rawProvider } from '../support/raw-provider.ts'
import { errorOf, listener, openAt, requestOf, type Surface, surfaces, user } from '../support/surfaces.ts'

const weather = { name: 'weather', description: 'Tells the weather.', inputSchema: { type: 'object' } }

interface Seen {
  readonly reply: ModelReply
  readonly skipped: readonly string[]
  readonly isClosed: boolean
}

/** Writes these texts as events, and leaves the connection open unless `isEnded`. */
async function replyTo(surface: Surface, events: readonly string[], isEnded = true): Promise<Seen> {
  let isClosed = false
  await using provider = await rawProvider((response: ServerResponse) => {
    response.on('close', () => {
      isClosed = true
    })
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (const event of events) response.write(event)
    if (isEnded) response.end()
  })
  const skipped: string[] = []
  const call = { ...listener(), onSkipped: (what: string) => void skipped.push(what) }
  const reply = await openAt(surface, provider.url).reply(requestOf([user('hello')], { tools: [weather] }), call)
  await waitUntil('the connection to close', () => isClosed)
  return { reply, skipped, isClosed }
}

const data = (value: unknown, end = '\n\n') => `data: ${JSON.stringify(value)}${end}`

function chatEvents(usage: unknown, end = '\n\n'): string[] {
  const chunk = (delta: unknown, reason: string | null = null) =>
    data({ id: 'c', created: 1, model: 'test-model', choices: [{ index: 0, delta, finish_reason: reason }] }, end)
  const last = data({ id: 'c', created: 1, model: 'test-model', choices: [], usage }, end)
  return [chunk({ role: 'assistant', content: 'Good ' }), chunk({ content: 'day.' }), chunk({}, 'stop'), last]
}

function responsesEvents(usage: unknown, end = '\n\n'): string[] {
  const item = { type: 'message', id: 'm1', status: 'in_progress', role: 'assistant', content: [] }
  const response = { id: 'r', object: 'response', created_at: 1, model: 'test-model', service_tier: null }
  return [
    { type: 'response.created', response },
    { type: 'response.output_item.added', output_index: 0, item },
    { type: 'response.output_text.delta', item_id: 'm1', output_index: 0, content_index: 0, delta: 'Good ' },
    { type: 'response.output_text.delta', item_id: 'm1', output_index: 0, content_index: 0, delta: 'day.' },
    { type: 'response.output_item.done', output_index: 0, item: { ...item, status: 'completed' } },
    { type: 'response.completed', response: { ...response, usage, incomplete_details: null } },
  ].map((event) => data(event, end))
}

function anthropicEvents(usage: Record<string, unknown>, end = '\n\n'): string[] {
  const message = { id: 'm', type: 'message', role: 'assistant', model: 'test-model', content: [], usage }
  return [
    { type: 'message_start', message },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Good ' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'day.' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
    { type: 'message_stop' },
  ].map((event) => `event: ${event.type}${end.slice(0, end.length / 2)}${data(event, end)}`)
}

const [chat, responses, anthropic, local] = surfaces as [Surface, Surface, Surface, Surface]
const plainCounts = { prompt_tokens: 11, completion_tokens: 7, input_tokens: 11, output_tokens: 7 }
const protocols = [
  { surface: chat, provider: 'openai-chat', eventsOf: chatEvents },
  { surface: responses, provider: 'openai', eventsOf: responsesEvents },
  { surface: anthropic, provider: 'anthropic', eventsOf: anthropicEvents },
  { surface: local, provider: 'local', eventsOf: chatEvents },
] as const

const good = { finishReason: 'stop', content: [expect.objectContaining({ type: 'text', text: 'Good day.' })] }

describe.each(protocols)('$provider', ({ surface, eventsOf }) => {
  const events = eventsOf(plainCounts)

  test('a reply ends with its last event, even if the connection stays open', async () => {
    const { reply } = await replyTo(surface, events, false)
    expect(reply).toMatchObject({ ...good, usage: { inputTokens: 11, outputTokens: 7 } })
  })

  test.each(['\n\n', '\r\n\r\n', '\r\r'])('events may end with %j', async (end) => {
    const { reply, skipped } = await replyTo(surface, eventsOf(plainCounts, end), false)
    expect(reply).toMatchObject(good)
    expect(skipped).toEqual([])
  })

  test('events may be cut anywhere on their way', async () => {
    const { reply } = await replyTo(surface, Array.from(events.join('')))
    expect(reply).toMatchObject(good)
  })

  test.each<[string, string, boolean]>([
    ['empty data', 'data:\n\n', false],
    ['a comment', ': still here\n\n', false],
    ['a ping', 'event: ping\ndata: {"type":"ping"}\n\n', false],
    ['an event with a name only', 'event: ping\n\n', false],
    ['text that is no JSON', 'data: still here\n\n', true],
    ['half an object', 'data: {"type":"content_block_del\n\n', true],
    ['a number', 'data: 7\n\n', true],
    ['a list', 'data: []\n\n', true],
    ['null', 'data: null\n\n', true],
    ['an empty object', 'data: {}\n\n', true],
    ['an object of another protocol', 'data: {"some":"thing"}\n\n', true],
  ])('%s between the events of a reply does not void it', async (_what, odd, isReported) => {
    for (let place = 0; place < events.length; place++) {
      const { reply, skipped } = await replyTo(surface, events.toSpliced(place, 0, odd))
      expect(reply).toMatchObject({ ...good, usage: { inputTokens: 11, outputTokens: 7 } })
      expect(skipped.length > 0, `${place}`).toBe(isReported)
    }
  })

  test.each([
    ['texts', { prompt_tokens: '11', completion_tokens: '7', input_tokens: '11', output_tokens: '7' }, 11, 7],
    ['negative', { prompt_tokens: -11, completion_tokens: -7, input_tokens: -11, output_tokens: -7 }, 0, 0],
    ['fractions', { prompt_tokens: 11.5, completion_tokens: 7.2, input_tokens: 11.5, output_tokens: 7.2 }, 11, 7],
    ['nothing', {}, 0, 0],
    ['words', { prompt_tokens: 'many', completion_tokens: {}, input_tokens: 'many', output_tokens: true }, 0, 0],
    ['huge', { prompt_tokens: 1e308, completion_tokens: 7, input_tokens: 1e308, output_tokens: 7 }, 0, 7],
  ])('usage of %s is read as far as it makes sense', async (_what, usage, inputTokens, outputTokens) => {
    const { reply } = await replyTo(surface, eventsOf(usage))
    expect(reply).toMatchObject({ ...good, usage: { inputTokens, outputTokens } })
  })

  test('a reply that breaks off without its last event is still a failed call', async () => {
    const call = replyTo(surface, events.slice(0, 2))
    expect(await errorOf(call)).toMatchObject({ retryable: true })
  })
})

/** What a call says that it has used, although it fails. */
async function usedBy(surface: Surface, events: readonly string[]): Promise<Usage | undefined> {
  await using provider = await rawProvider((response: ServerResponse) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(events.join(''))
  })
  const used: Usage[] = []
  const call = { ...listener(), onUsage: (usage: Usage) => void used.push(usage) }
  await errorOf(openAt(surface, provider.url).reply(requestOf([user('hello')]), call))
  return used.at(-1)
}

describe('anthropic', () => {
  const events = anthropicEvents(plainCounts)

  test('a reply that breaks off says what its prompt has used', async () => {
    const counts = { input_tokens: 3, cache_read_input_tokens: 40, cache_creation_input_tokens: 500, output_tokens: 1 }
    const used = await usedBy(anthropic, anthropicEvents(counts).slice(0, 2))
    expect(used).toEqual({ inputTokens: 543, outputTokens: 0, cacheReadTokens: 40, cacheWriteTokens: 500 })
  })

  test('a reply that was refused says what it has used', async () => {
    const refused = [
      {
        type: 'message_start',
        message: {
          id: 'm',
          type: 'message',
          role: 'assistant',
          model: 'm',
          content: [],
          usage: { input_tokens: 7, output_tokens: 1 },
        },
      },
      { type: 'message_delta', delta: { stop_reason: 'refusal', stop_sequence: null }, usage: { output_tokens: 5 } },
      { type: 'message_stop' },
    ].map((event) => data(event))
    expect(await usedBy(anthropic, refused)).toMatchObject({ inputTokens: 7, outputTokens: 5 })
  })

  test('blocks, deltas and events of unknown types are skipped', async () => {
    const odd = [
      { type: 'content_block_start', index: 7, content_block: { type: 'hologram', depth: 3 } },
      { type: 'content_block_delta', index: 7, delta: { type: 'text_delta', text: 'not this' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'hologram_delta', depth: 3 } },
      { type: 'content_block_stop', index: 7 },
      { type: 'weather_report', rain: true },
    ].map((event) => data(event))
    const { reply, skipped } = await replyTo(anthropic, events.toSpliced(3, 0, ...odd))
    expect(reply).toMatchObject(good)
    expect(skipped.map((what) => what.replace(/:.*/, ''))).toEqual([
      'a block of an unknown type',
      'a delta that cannot be read',
      'an event of an unknown type',
    ])
  })
})

test('a chat reply without its last event ends soon after its finish', async () => {
  const { reply } = await replyTo(chat, chatEvents(plainCounts).slice(0, 3), false)
  expect(reply).toMatchObject(good)
})

test.each([chat, local])(
  'a chat event with `error: null` and odd fields is part of a reply ($provider)',
  async (surface) => {
    const events = chatEvents(plainCounts).map((event) =>
      event
        .replace('{"id"', '{"error":null,"id"')
        .replace('"index":0', '"index":0,"logprobs":{"content":"none"}')
        .replace('"role":"assistant"', '"role":"model","annotations":"none"'),
    )
    const { reply } = await replyTo(surface, events)
    expect(reply).toMatchObject(good)
  },
)

test('a damaged event within the arguments of a call voids the reply', async () => {
  const chunk = (call: unknown, reason: string | null = null) =>
    data({ id: 'c', model: 'm', choices: [{ index: 0, delta: { tool_calls: [call] }, finish_reason: reason }] })
  const events = [
    chunk({ index: 0, id: 'call_1', type: 'function', function: { name: 'weather', arguments: '{"path":"/a' } }),
    'data: {"id":"c","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"fun\n\n',
    chunk({ index: 0, function: { arguments: '"}' } }, 'tool_calls'),
    'data: [DONE]\n\n',
  ]
  expect(await errorOf(replyTo(chat, events))).toMatchObject({ code: 'model_garbled', retryable: true })
})
