/** What providers and networks do wrong, over HTTP, against a server that answers byte by byte as a test says. */
import { getEventListeners } from 'node:events'
import type { ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { inspect } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { ModelReply } from '../../src/core/definition/model.ts'
import { type FakeSurface, fakeSurfaces } from '../support/provider/fake-surfaces.ts'
import { ownPort } from '../support/redis/own-port.ts'
import { waitUntil } from '../support/time/wait-until.ts'
import { chunkOf, endChunks, rawProvider, writeChunks } from './support/raw-provider.ts'
import { canary, errorOf, listener, openAt, requestOf, type Surface, surfaces, user } from './support/surfaces.ts'

const chat = surfaces[0] as Surface
const anthropic = surfaces[2] as Surface
const weather = { name: 'weather', description: 'Tells the weather.', inputSchema: { type: 'object' } }

type Answer = (response: ServerResponse) => void

async function replyTo(answer: Answer, surface: Surface = chat, heard = listener()): Promise<ModelReply> {
  await using provider = await rawProvider(answer)
  return await openAt(surface, provider.url).reply(requestOf([user('hello')], { tools: [weather] }), heard)
}

async function failureOf(answer: Answer, surface: Surface = chat): Promise<Error & { retryAfterMs?: number }> {
  return (await errorOf(replyTo(answer, surface))) as Error
}

function jsonAnswer(status: number, body: unknown, headers: Record<string, string> = {}): Answer {
  return (response) => {
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body))
  }
}

function eventsAnswer(text: string): Answer {
  return (response) => response.writeHead(200, { 'content-type': 'text/event-stream' }).end(text)
}

describe.each(surfaces)('$provider', (surface) => {
  test.each<[string, Answer]>([
    ['a page of HTML', (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>hi</html>')],
    ['events that are no JSON', eventsAnswer('data: {"not json\n\ndata: nor this\n\n')],
    ['events of another protocol', eventsAnswer('data: {"some":"thing"}\n\n')],
    ['nothing', eventsAnswer('')],
  ])('%s is a garbled reply', async (_what, answer) => {
    expect(await failureOf(answer, surface)).toMatchObject({ code: 'model_garbled', retryable: true })
  })

  test.each<[string, Answer]>([
    ['cut before an answer', (response) => response.destroy()],
    [
      'cut after the headers',
      (response) => {
        response.writeHead(200, { 'content-type': 'text/event-stream' })
        response.write(': hello\n\n', () => response.destroy())
      },
    ],
  ])('a connection %s is a provider that did not answer', async (_what, answer) => {
    expect(await failureOf(answer, surface)).toMatchObject({ code: 'model_unavailable', retryable: true })
  })

  test('a connection that is reset in the middle of a reply says so', async () => {
    const error = await failureOf((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(': hello\n\n', () => response.socket?.resetAndDestroy())
    }, surface)
    expect(error).toMatchObject({ code: 'model_unavailable', retryable: true })
    expect(error.message).toContain('/test-model did not answer: read ECONNRESET')
  })

  test('a connection that is closed behind a part of a reply says that the reply was broken off', async () => {
    const { events } = (fakeSurfaces.find(({ model }) => model === `${surface.provider}/fake`) ??
      fakeSurfaces[0]) as FakeSurface
    const error = await failureOf((response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.write(events({ text: 'Half' }).slice(0, 3).join(''), () => response.socket?.destroy())
    }, surface)
    expect(error).toMatchObject({ code: 'model_unavailable', retryable: true })
    expect(error.message).toContain('/test-model broke off its reply: ')
  })

  test.each([
    ['text/html; charset=utf-8', '<html>Please log in.</html>', '<html>Please log in.</html>'],
    ['application/json', '{"error":"Unexpected endpoint"}', '{"error":"Unexpected endpoint"}'],
    ['application/json', `{"key":"${canary}"}`, '{"key":"[redacted]"}'],
  ])('an answer of %s, which is not a reply, is quoted', async (type, body, quoted) => {
    const error = await failureOf((response) => response.writeHead(200, { 'content-type': type }).end(body), surface)
    expect(error).toMatchObject({ code: 'model_garbled', retryable: true })
    expect(error.message).toContain(`cannot be read: expected events, but got ${type}: ${quoted}`)
  })

  test('a port on which nobody listens says so', async () => {
    const url = `http://127.0.0.1:${await ownPort()}`
    const error = (await errorOf(openAt(surface, url).reply(requestOf([user('x')]), listener()))) as Error
    expect(error).toMatchObject({ code: 'model_unavailable' })
    expect(error.message).toContain('ECONNREFUSED')
  })

  test.each([301, 302, 303, 307, 308])(
    'status %i sends neither key nor conversation to another address',
    async (status) => {
      await using other = await rawProvider((response) => void response.writeHead(500).end())
      const answer: Answer = (response) =>
        response.writeHead(status, { location: `${other.url.replace('//', `//me:${canary}@`)}/v1?t=${canary}` }).end()
      const error = await failureOf(answer, surface)
      expect(other.requests).toEqual([])
      expect(error).toMatchObject({ code: 'model_refused', retryable: false })
      expect(error.message).toContain(`redirects to ${other.url}/v1, `)
      expect(error.message).not.toContain(canary)
    },
  )

  test('no error holds a key, whatever the provider quotes', async () => {
    const message = `Incorrect API key provided: ${canary.slice(0, 12)}****${canary.slice(-4)}, sent as Bearer ${canary}`
    const answers = [
      jsonAnswer(401, { error: { message, type: 'authentication_error' } }, { 'x-echo': canary }),
      jsonAnswer(500, { detail: message, key: canary }),
      (response: ServerResponse) => response.writeHead(403, { 'content-type': 'text/plain' }).end(message),
      eventsAnswer(`data: ${canary} is no JSON\n\n`),
      eventsAnswer(`event: error\ndata: {"type":"error","error":{"type":"api_error","message":"key ${canary}"}}\n\n`),
    ]
    for (const answer of answers) {
      const seen = inspect(await failureOf(answer, surface), { depth: 20, showHidden: true })
      expect(seen).not.toContain('canary')
      expect(seen).not.toContain(canary.slice(-12))
      expect(seen).toContain(surface.provider)
    }
  })

  test('a long error is cut, and a page of HTML is one line', async () => {
    const page = `<html>\n${'x '.repeat(2_000_000)}</html>`
    const error = await failureOf((response) => response.writeHead(502).end(page), surface)
    expect(error).toMatchObject({ code: 'model_unavailable' })
    expect(error.message.length).toBeLessThan(450)
    expect(error.message).not.toContain('\n')
  })

  test('an abort ends a call that hangs, closes its connection, and leaves nothing at the signal', async () => {
    const closed: boolean[] = []
    await using provider = await rawProvider((response) => {
      response.on('close', () => closed.push(true))
    })
    const controller = new AbortController()
    const heard = listener(controller.signal)
    const work = errorOf(openAt(surface, provider.url).reply(requestOf([user('hello')]), heard))
    await waitUntil('the request', () => provider.requests.length > 0)
    const reason = new Error('time is over')
    controller.abort(reason)
    expect(await work).toBe(reason)
    expect(heard.firstByteAt).toBe(-1)
    await waitUntil('the connection to close', () => closed.length > 0)
    expect(getEventListeners(controller.signal, 'abort')).toEqual([])
  })
})

describe('waiting', () => {
  test.each([
    [{ 'retry-after': '2.5' }, 2_500, 2_500],
    [{ 'retry-after-ms': '120', 'retry-after': '9' }, 120, 120],
    [{ 'retry-after': new Date(Date.now() + 60_000).toUTCString() }, 1, 60_000],
    [{ 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }, 0, 0],
    [{ 'retry-after': `${Math.floor(Date.now() / 1_000) + 60}` }, 1, 60_000],
    [{ 'retry-after': `${Date.now() + 60_000}` }, 1, 60_000],
    [{ 'retry-after': '1600000000' }, 0, 0],
    [{ 'retry-after': '1e9' }, 1e12, 1e12],
    [{ 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' }, 2e14, 3e14],
  ])('%j', async (headers, least, most) => {
    const { retryAfterMs } = await failureOf(jsonAnswer(503, { error: { message: 'Busy.' } }, headers))
    expect(retryAfterMs).toBeGreaterThanOrEqual(least)
    expect(retryAfterMs).toBeLessThanOrEqual(most)
  })

  test.each([{}, { 'retry-after': 'soon' }, { 'retry-after': '-5' }, { 'retry-after-ms': '-5' }])(
    '%j says nothing',
    async (headers) => {
      const error = await failureOf(jsonAnswer(429, { error: { message: 'Busy.' } }, { ...headers }))
      expect(error).toMatchObject({ code: 'model_overloaded', retryAfterMs: undefined })
    },
  )
})

describe('errors that the status does not show', () => {
  test.each([
    ['insufficient_quota', 'model_refused'],
    ['rate_limit_exceeded', 'model_overloaded'],
    ['server_error', 'model_unavailable'],
  ])('a response that failed with %s', async (code, expected) => {
    const created = { type: 'response.created', response: { id: 'r', created_at: 1, model: 'test-model' } }
    const failed = { type: 'response.failed', response: { id: 'r', error: { code, message: 'It failed.' } } }
    const text = { type: 'response.output_text.delta', item_id: 'm', output_index: 0, delta: 'Hal' }
    const item = { type: 'response.output_item.added', output_index: 0, item: { type: 'message', id: 'm' } }
    for (const events of [
      [created, failed],
      [created, item, text, failed],
    ]) {
      const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')
      expect(await failureOf(eventsAnswer(body), surfaces[1])).toMatchObject({ code: expected })
    }
  })

  test('an empty account is not retried [1.50]', async () => {
    const error = {
      message: 'You exceeded your current quota.',
      type: 'insufficient_quota',
      code: 'insufficient_quota',
    }
    expect(await failureOf(jsonAnswer(429, { error }))).toMatchObject({ code: 'model_refused', retryable: false })
  })

  test.each([
    ['overloaded_error', 'Overloaded', 'model_overloaded'],
    ['api_error', 'Internal server error', 'model_unavailable'],
    ['invalid_request_error', 'prompt is too long', 'context_overflow'],
    ['invalid_request_error', 'an image is missing', 'model_refused'],
  ])('an error %s inside of a stream fails the call with its own code', async (type, message, code) => {
    const start = { type: 'message_start', message: { id: 'm', model: 'test-model', usage: { input_tokens: 1 } } }
    const text = ['content_block_start', { index: 0, content_block: { type: 'text', text: '' } }] as const
    const delta = ['content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Hel' } }] as const
    const events = [
      start,
      ...[text, delta].map(([name, rest]) => ({ type: name, ...rest })),
      { type: 'error', error: { type, message } },
    ]
    const body = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
    const error = await failureOf(eventsAnswer(body), anthropic)
    expect(error).toMatchObject({ code })
    expect(error.message).toContain(message)
  })

  test('a reply that a content filter removed completely is a refusal', async () => {
    const answer = (response: ServerResponse) => {
      writeChunks(response, [{ role: 'assistant', content: '' }])
      endChunks(response, 'content_filter')
    }
    expect(await failureOf(answer)).toMatchObject({ code: 'model_refused', retryable: false })
  })

  test.each([401, 403])('the status %i names the variable to check', async (status) => {
    const error = await failureOf(jsonAnswer(status, { error: { message: 'No.' } }))
    expect(error.message).toBe(`openai-chat/test-model refused the request (${status}): No. – check OPENAI_API_KEY.`)
  })
})

describe('the reply of a model', () => {
  const calling = (args: string): Answer => {
    return (response) => {
      const tool = { index: 0, id: 'call_1', type: 'function', function: { name: 'weather', arguments: args } }
      writeChunks(response, [{ role: 'assistant', tool_calls: [tool] }])
      endChunks(response, 'tool_calls')
    }
  }

  test.each([
    ['{"city": "Bo', { input: null, inputText: '{"city": "Bo' }],
    ['nonsense', { input: null, inputText: 'nonsense' }],
    ['{"__proto__":{"admin":true}}', { input: null, inputText: '{"__proto__":{"admin":true}}' }],
    ['', { input: {} }],
    ['"Bonn"', { input: 'Bonn' }],
    ['{"city":"\\ud800x\\u0000"}', { input: { city: '\ufffdx\u0000' } }],
  ])('arguments %s', async (args, expected) => {
    const { content } = await replyTo(calling(args))
    expect(content).toEqual([expect.objectContaining({ toolCallId: 'call_1', toolName: 'weather', ...expected })])
    expect('inputText' in (content[0] ?? {})).toBe('inputText' in expected)
  })

  test('arguments that are nested too deeply for the stack come as text', async () => {
    const args = `{"a":${'['.repeat(200_000)}${']'.repeat(200_000)}}`
    const { content } = await replyTo(calling(args))
    expect(content).toMatchObject([{ input: null, inputText: args }])
  })

  test('half surrogate pairs are replaced, and pairs that were cut between two pieces are joined', async () => {
    const heard = listener()
    const { content } = await replyTo(
      (response) => {
        writeChunks(
          response,
          ['a\ud83d', '\ude00b\ud800', 'c\u0000', 'd\ud83d'].map((text) => ({ content: text })),
        )
        endChunks(response)
      },
      chat,
      heard,
    )
    expect(content).toEqual([{ type: 'text', text: 'a😀b\ufffdc\u0000d\ufffd' }])
    expect(heard.deltas.map(({ text }) => text)).toEqual(['a', '😀b', '\ufffdc\u0000', 'd'])
  })

  test('an end without a finish is an interrupted reply', async () => {
    const error = await failureOf((response) => {
      writeChunks(response, [{ role: 'assistant', content: 'Half of an ans' }])
      response.end()
    })
    expect(error).toMatchObject({ code: 'model_unavailable', retryable: true })
  })

  test.each([
    ['one endless event', 200, 'text/event-stream', 'data: {"', 'x'.repeat(65_536)],
    ['an endless error', 500, 'application/json', '{"', 'x'.repeat(65_536)],
    ['an endless text', 200, 'text/event-stream', '', chunkOf({ content: 'x'.repeat(65_536) })],
  ])('%s is not read to its end, and its connection is closed', async (_what, status, type, start, more) => {
    let isClosed = false
    await using provider = await rawProvider((response) => {
      response.on('close', () => {
        isClosed = true
      })
      const endless = new Readable({
        read() {
          this.push(more)
        },
      })
      response.writeHead(status, { 'content-type': type }).write(start)
      endless.pipe(response)
    })
    const error = await errorOf(openAt(chat, provider.url).reply(requestOf([user('hello')]), listener()))
    expect(error).toMatchObject({ code: 'model_garbled', retryable: true })
    await waitUntil('the connection to close', () => isClosed)
  })
})

test('a short text among many other parts is a reply', async () => {
  const { content } = await replyTo((response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    for (let count = 0; count < 200; count++) response.write(`: ${'.'.repeat(65_536)}\n\n`)
    writeChunks(response, [{ content: 'Hi.' }])
    endChunks(response)
  })
  expect(content).toEqual([{ type: 'text', text: 'Hi.' }])
})

describe('reasoning of anthropic', () => {
  test('a signature of reasoning goes back only to the model that made it, also under a longer name', async () => {
    const events = [
      { type: 'message_start', message: { id: 'm', model: 'test-model-20250929', usage: { input_tokens: 1 } } },
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Two and two.' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'signature_delta', signature: 'c2lnbmVk' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'Four.' } },
      { type: 'content_block_stop', index: 1 },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: 2 } },
      { type: 'message_stop' },
    ]
    const body = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join('')
    await using provider = await rawProvider(eventsAnswer(body))
    const model = openAt(anthropic, provider.url)
    const reply = await model.reply(requestOf([user('add')]), listener())
    expect(reply.content.map(({ type }) => type)).toEqual(['reasoning', 'text'])
    const recorded = JSON.parse(JSON.stringify(reply)) as ModelReply
    const messages = [user('add'), { role: 'assistant', ...recorded } as const, user('again')]
    await model.reply(requestOf(messages), listener())
    await openAt(anthropic, provider.url, 'test-model-mini').reply(requestOf(messages), listener())
    const [, own, other] = provider.requests.map((request) => request.body)
    expect(own).toContain('c2lnbmVk')
    expect(other).not.toContain('c2lnbmVk')
    expect(other).not.toContain('Two and two.')
    expect(other).toContain('Four.')
  })
})
