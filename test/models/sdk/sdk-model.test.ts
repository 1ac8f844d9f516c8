/** One suite for all protocols, over HTTP, against a fake provider. */
import { subscribe } from 'node:diagnostics_channel'
import { getEventListeners } from 'node:events'
import type { Server } from 'node:http'
import { LLMock } from '@copilotkit/aimock'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { PromptMessage, ToolSpec } from '../../../src/core/definition/model.ts'
import { policy } from '../../../src/core/policy.ts'
import { sdkModel } from '../../../src/models/sdk/sdk-model.ts'
import { rawProvider } from '../support/raw-provider.ts'
import { canary, errorOf, listener, openAt, requestOf, surfaces, user } from '../support/surfaces.ts'

const fake = new LLMock({ port: 0 })
beforeAll(async () => {
  // It would close connections after five seconds of rest, also just when the next request is on its way.
  subscribe('http.server.request.start', (message) => {
    const { server } = message as { server: Server }
    server.keepAliveTimeout = 0
  })
  await fake.start()
})
afterEach(() => {
  fake.clearFixtures()
  fake.clearRequests()
})
afterAll(async () => {
  await fake.stop()
})

const usage = { prompt_tokens: 11, completion_tokens: 7, input_tokens: 11, output_tokens: 7 }
const weather: ToolSpec = {
  name: 'weather',
  description: 'Tells the weather.',
  inputSchema: { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] },
}

const closed = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
}

describe.each(surfaces)('$provider', (surface) => {
  const model = () => openAt(surface, fake.url)

  test('a text arrives in pieces after the first byte, complete, with its usage [1.33]', async () => {
    fake.onMessage('hello', { content: 'Good morning to you all.', usage }, { chunkSize: 5 })
    const heard = listener()
    const reply = await model().reply(requestOf([user('hello')]), heard)
    expect(reply.content).toMatchObject([{ type: 'text', text: 'Good morning to you all.' }])
    expect(reply).toMatchObject({ finishReason: 'stop', usage: { inputTokens: 11, outputTokens: 7 } })
    expect(reply.model).toBe(`${surface.provider}/test-model`)
    expect(heard.deltas.length).toBeGreaterThan(3)
    expect(heard.deltas.map(({ text }) => text).join('')).toBe('Good morning to you all.')
    expect(heard.firstByteAt).toBe(0)
    expect(getEventListeners(heard.signal, 'abort')).toEqual([])
  })

  test('a call of which nothing has arrived reports nothing that has arrived', async () => {
    const stop = new AbortController()
    let arrived = 0
    await using raw = await rawProvider(() => stop.abort(new Error('enough')))
    const heard = { ...listener(stop.signal), onFirstByte: () => arrived++, onActivity: () => arrived++ }
    await expect(openAt(surface, raw.url).reply(requestOf([user('hello')]), heard)).rejects.toThrow('enough')
    expect(arrived).toBe(0)
  })

  test('the request holds instructions, tools, and the idempotency key, and goes out once [1.41]', async () => {
    fake.onMessage('hello', { content: 'Hi.' })
    const request = requestOf([user('hello')], { tools: [weather], idempotencyKey: 'sess ü/3/1' })
    await model().reply(request, listener())
    const [seen, ...more] = fake.getRequests()
    expect(more).toEqual([])
    expect(seen?.path).toBe(surface.path)
    expect(JSON.stringify(seen?.body)).toContain('You are terse.')
    expect(JSON.stringify(seen?.body)).toContain('Tells the weather.')
    expect(seen?.headers['idempotency-key']).toBe('sess%20%C3%BC/3/1')
  })

  test('a provider that can hold a reply to a schema is asked to do so, also beside tools where both are allowed', async () => {
    await using raw = await rawProvider((response) => void response.writeHead(400).end('{}'))
    const name = surface.provider === 'anthropic' ? 'claude-sonnet-4-5' : 'test-model'
    const held = openAt(surface, raw.url, name)
    for (const tools of [[weather], []])
      await errorOf(held.reply(requestOf([user('hello')], { tools, output: closed }), listener()))
    const isCompatible = surface.provider === 'local'
    const sent = raw.requests.map(({ body }) => body)
    expect(sent.map((body) => body.includes('"type":"json_schema"'))).toEqual([!isCompatible, true])
    expect(sent.map((body) => body.includes('"strict":false'))).toEqual(
      surface.provider === 'anthropic' ? [false, false] : [!isCompatible, true],
    )
    expect(sent[0]).toContain('Tells the weather.')
    expect(sent[0]).not.toMatch(/tool_choice":\{?"?(?:any|required|tool)/)
  })

  test.each([
    'This response_format type is unavailable now',
    'This model does not support response format `json_schema`. See supported models.',
    "Invalid schema for response_format 'output': In context=(), 'tags' is not permitted.",
    'output_config: Extra inputs are not permitted',
    'Structured outputs are not supported by this model.',
  ])('a provider that takes no schema is asked again without one, and asked without one later: %s', async (message) => {
    await using raw = await rawProvider((response) => {
      response.writeHead(400, { 'content-type': 'application/json' }).end(JSON.stringify({ error: { message } }))
    })
    const name = surface.provider === 'anthropic' ? 'claude-sonnet-4-5' : 'test-model'
    const held = openAt(surface, raw.url, name)
    const asked = () => errorOf(held.reply(requestOf([user('hello')], { output: closed }), listener()))
    expect(await asked()).toMatchObject({ code: 'model_unavailable', message: expect.stringContaining('asked again') })
    expect(await asked()).toMatchObject({ code: 'model_refused' })
    expect(raw.requests.map(({ body }) => body.includes('json_schema'))).toEqual([true, false])
  })

  test('no system prompt is sent without instructions', async () => {
    fake.onMessage('hello', { content: 'Hi.' })
    await model().reply(requestOf([user('hello')], { instructions: '' }), listener())
    const [seen] = fake.getRequests()
    expect(JSON.stringify(seen?.body)).not.toMatch(/"system"|"developer"|"instructions"/)
  })

  test('a tool call comes through and its result goes back', async () => {
    fake.on({ userMessage: 'weather', hasToolResult: false }, call('call_1', '{"city":"Bonn"}'))
    fake.on({ userMessage: 'weather', hasToolResult: true, toolResultContains: 'rain' }, { content: 'It rains.' })
    const tools = [weather]
    const first = await model().reply(requestOf([user('weather')], { tools }), listener())
    expect(first.finishReason).toBe('tool-calls')
    expect(first.content).toMatchObject([
      { type: 'tool-call', toolCallId: 'call_1', toolName: 'weather', input: { city: 'Bonn' } },
    ])
    const results = [
      { toolCallId: 'call_1', toolName: 'weather', output: { type: 'json', value: { sky: 'rain' } } } as const,
    ]
    const messages: PromptMessage[] = [
      user('weather'),
      { role: 'assistant', model: first.model, content: first.content },
      { role: 'tool', results },
    ]
    const second = await model().reply(requestOf(messages, { tools }), listener())
    expect(second.content).toMatchObject([{ type: 'text', text: 'It rains.' }])
  })

  test('parallel calls keep their ids and their order, after the text before them', async () => {
    fake.onMessage('both', {
      content: 'Both.',
      toolCalls: [
        { id: 'call_a', name: 'weather', arguments: '{"city":"Bonn"}' },
        { id: 'call_b', name: 'weather', arguments: '{"city":"Ulm"}' },
      ],
    })
    const reply = await model().reply(requestOf([user('both')], { tools: [weather] }), listener())
    expect(reply.content).toMatchObject([
      { type: 'text', text: 'Both.' },
      { toolCallId: 'call_a', input: { city: 'Bonn' } },
      { toolCallId: 'call_b', input: { city: 'Ulm' } },
    ])
  })

  test('all of 200 calls in one reply come through', async () => {
    const toolCalls = Array.from({ length: 200 }, (_, index) => ({
      id: `call_${index}`,
      name: 'weather',
      arguments: `{"city":"${index}"}`,
    }))
    fake.onMessage('many', { toolCalls })
    const reply = await model().reply(requestOf([user('many')], { tools: [weather] }), listener())
    expect(reply.content).toMatchObject(
      toolCalls.map(({ id }, index) => ({ toolCallId: id, input: { city: String(index) } })),
    )
  })

  test('all of 50 simultaneous calls of one model get their own reply', async () => {
    fake.on({ predicate: () => true }, (request) => {
      const said = request.messages.at(-1)?.content
      return { content: `You said ${typeof said === 'string' ? said : JSON.stringify(said)}` }
    })
    const shared = model()
    const numbers = Array.from({ length: 50 }, (_, index) => index)
    const replies = await Promise.all(
      numbers.map(async (number) => shared.reply(requestOf([user(`<${number}>`)]), listener())),
    )
    expect(replies.filter((reply, number) => JSON.stringify(reply.content).includes(`<${number}>`))).toHaveLength(50)
  })

  test('wrong arguments, unknown names and repeated ids are passed on uncorrected', async () => {
    fake.onMessage('odd', {
      toolCalls: [
        { id: 'call_1', name: 'weather', arguments: '{"town":5}' },
        { id: 'call_1', name: 'nosuch', arguments: '{"a":1}' },
      ],
    })
    const reply = await model().reply(requestOf([user('odd')], { tools: [weather] }), listener())
    // Some packages give a repeated id a new one; others leave that to troupe.
    expect(reply.content).toMatchObject([
      { toolCallId: 'call_1', toolName: 'weather', input: { town: 5 } },
      { toolCallId: expect.stringMatching(/./), toolName: 'nosuch', input: { a: 1 } },
    ])
  })

  test('an answer 429 says how long to wait', async () => {
    fake.onMessage('busy', { status: 429, retryAfter: 7, error: { message: 'Slow down.', type: 'rate_limit_error' } })
    const error = await errorOf(model().reply(requestOf([user('busy')]), listener()))
    expect(error).toMatchObject({ code: 'model_overloaded', retryable: true, retryAfterMs: 7_000 })
    expect((error as Error).message).toBe(`${surface.provider}/test-model is overloaded (429): Slow down.`)
    expect(fake.getRequests()).toHaveLength(1)
  })

  test.each([
    [500, 'model_unavailable', true],
    [503, 'model_overloaded', true],
    [529, 'model_overloaded', true],
    [408, 'model_unavailable', true],
    [400, 'model_refused', false],
    [401, 'model_refused', false],
    [404, 'model_refused', false],
    [413, 'model_refused', false],
    [422, 'model_refused', false],
  ] as const)('%i is %s', async (status, code, retryable) => {
    fake.onMessage('fail', { status, error: { message: `No: ${canary}`, type: 'some_error' } })
    const error = await errorOf(model().reply(requestOf([user('fail')]), listener()))
    expect(error).toMatchObject({ code, retryable, details: { status } })
    expect((error as Error).message).toMatch(new RegExp(`\\(${status}\\): No: \\[redacted\\]`))
    expect(fake.getRequests()).toHaveLength(1)
  })

  test('an answer that breaks off in the middle is not a reply', async () => {
    const content = 'one two three four five six seven eight nine ten'
    fake.onMessage('long', { content }, { chunkSize: 4, truncateAfterChunks: 6 })
    const error = await errorOf(model().reply(requestOf([user('long')]), listener()))
    expect(error).toMatchObject({ code: 'model_unavailable', retryable: true })
  })

  test('a reply of 4 MB is accepted, one of 10 MB is refused', async () => {
    fake.onMessage('four', { content: 'x'.repeat(4_000_000) }, { chunkSize: 50_000 })
    fake.onMessage('ten', { content: 'y'.repeat(10_000_000) }, { chunkSize: 50_000 })
    const reply = await model().reply(requestOf([user('four')]), listener())
    expect(reply.content[0]).toMatchObject({ text: 'x'.repeat(4_000_000) })
    const heard = listener()
    const error = await errorOf(model().reply(requestOf([user('ten')]), heard))
    expect(error).toMatchObject({ code: 'model_garbled', retryable: true })
    expect(heard.deltas.reduce((sum, { text }) => sum + text.length, 0)).toBeLessThanOrEqual(policy.replyBytesMax)
  })

  test('an abort ends the call with its reason [1.33]', async () => {
    fake.onMessage('slow', { content: 'x'.repeat(1_000) }, { chunkSize: 1, latency: 50 })
    const reason = new Error('cancelled by a test')
    const controller = new AbortController()
    const heard = listener(controller.signal)
    const work = model().reply(requestOf([user('slow')]), {
      ...heard,
      signal: controller.signal,
      onDelta: () => controller.abort(reason),
    })
    expect(await errorOf(work)).toBe(reason)
    expect(await errorOf(model().reply(requestOf([user('slow')]), listener(controller.signal)))).toBe(reason)
  })
})

test('a provider that could not be loaded is loaded again by the next call', async () => {
  fake.onMessage('hello', { content: 'Hi.' })
  let loads = 0
  const model = sdkModel({
    id: 'late/test-model',
    secrets: [],
    async load() {
      loads++
      if (loads === 1) throw new Error('too many open files')
      const { createOpenAICompatible } = await import('@ai-sdk/openai-compatible')
      return createOpenAICompatible({ name: 'late', baseURL: `${fake.url}/v1` })('test-model')
    },
  })
  const ask = () => model.reply(requestOf([user('hello')]), listener())
  expect(await errorOf(ask())).toMatchObject({ message: expect.stringContaining('too many open files') })
  expect((await ask()).content).toMatchObject([{ type: 'text', text: 'Hi.' }])
  await ask()
  expect(loads).toBe(2)
})

describe('reasoning', () => {
  test.each(surfaces.filter(({ provider }) => provider !== 'openai-chat'))(
    '$provider: reasoning comes as its own block, before the text',
    async (surface) => {
      fake.onMessage('think', { content: 'Four.', reasoning: 'Two and two.', reasoningSignature: 'c2ln' })
      const heard = listener()
      const id = surface.provider === 'openai' ? 'gpt-5' : 'test-model'
      const reply = await openAt(surface, fake.url, id).reply(requestOf([user('think')]), heard)
      expect(reply.content).toMatchObject([
        { type: 'reasoning', text: 'Two and two.' },
        { type: 'text', text: 'Four.' },
      ])
      expect(heard.deltas.some(({ type }) => type === 'reasoning')).toBe(true)
    },
  )
})

function call(id: string, args: string) {
  return { toolCalls: [{ id, name: 'weather', arguments: args }] }
}
