/** `troupe/http`: the typed client, against a real API. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { entryOf } from '../../src/api/guard/tokens.ts'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { connectHttp, followEvents, HttpProblem } from '../../src/http/index.ts'
import { TestApi } from '../api/support/test-api.ts'
import { patienceMs } from '../support/time/patience.ts'

const token = 'a-token-of-more-than-thirty-two-characters'
let api: TestApi
beforeAll(async () => {
  const tokens = [entryOf(token, { name: 'program', rights: ['operate'] }, 'test')]
  api = await TestApi.start(
    { echo: defineWorker({ receive: (message, self) => self.reply(message.value) }) },
    { tokens },
  )
})
afterAll(() => api[Symbol.asyncDispose]())

test('creates a session, waits for its result, and follows it to its end', async () => {
  const troupe = connectHttp({ url: api.api.url, token })
  const { data } = await troupe.POST('/v1/sessions', {
    body: { kind: 'echo', input: { n: 1 } },
    params: { header: { Prefer: 'wait=60', 'Idempotency-Key': 'one' } },
  })
  expect(data?.result).toEqual({ status: 'completed', run: 1, value: { n: 1 } })
  const id = data?.sessionId ?? ''
  const shown = await troupe.GET('/v1/sessions/{id}', { params: { path: { id } } })
  expect(shown.data?.session.state).toBe('completed')
  const types: string[] = []
  for await (const { type } of followEvents({ url: api.api.url, token, path: `/v1/sessions/${id}/events?after=0-0` }))
    types.push(type)
  expect(types.at(-1)).toBe('session.completed')
})

test.each([
  ['one session', (id: string) => `/v1/sessions/${id}/events?types=run.completed`],
  ['all sessions', () => '/v1/events?types=run.completed'],
])(
  'a stream of %s that breaks before its first event brings what happened meanwhile (HTTP-FOLLOW-1)',
  async (_, pathOf) => {
    const headers = { authorization: `Bearer ${token}` }
    const post = (path: string, body: object) => api.post(path, body, { ...headers, prefer: 'wait=60' })
    const { body } = await post('/v1/sessions', { kind: 'echo', input: 1, keepOpen: true })
    const session = `/v1/sessions/${body.sessionId}`
    let connections = 0
    const breaking = async (request: Request) => {
      const response = await fetch(request)
      if (connections++ > 0) return response
      const reader = (response.body as ReadableStream<Uint8Array<ArrayBuffer>>).getReader()
      const { value } = await reader.read()
      await reader.cancel()
      if (!/^id: \d/m.test(new TextDecoder().decode(value))) throw new HttpProblem(400, 'x', 'no position')
      await post(`${session}/messages`, { input: 2 })
      await api.get(`${session}/result?run=2&wait=60`, headers)
      const start = (out: ReadableStreamDefaultController) => out.enqueue(value)
      return new Response(new ReadableStream({ start, pull: (out) => out.error(new TypeError('the wire broke')) }))
    }
    const options = { url: api.api.url, token, path: pathOf(body.sessionId), fetch: breaking }
    const following = followEvents({ ...options, signal: AbortSignal.timeout(patienceMs) })
    expect((await following.next()).value).toMatchObject({ type: 'run.completed', data: { sessionId: body.sessionId } })
    await following.return()
    expect(connections).toBe(2)
  },
)

test('a limit of a stream holds over a broken connection (HTTP-FOLLOW-2)', async () => {
  const headers = { authorization: `Bearer ${token}` }
  const { body } = await api.post('/v1/sessions', { kind: 'echo', input: 1 }, { ...headers, prefer: 'wait=60' })
  let connections = 0
  const breaking = async (request: Request) => {
    const response = await fetch(request)
    if (connections++ > 0) return response
    const blocks = (await response.text()).split(/(?<=\n\n)/)
    const start = (out: ReadableStreamDefaultController) =>
      out.enqueue(new TextEncoder().encode(blocks.slice(0, -1).join('')))
    return new Response(new ReadableStream({ start, pull: (out) => out.error(new TypeError('the wire broke')) }))
  }
  const path = `/v1/sessions/${body.sessionId}/events?after=0-0&transient=false&limit=3`
  const types = await Array.fromAsync(
    followEvents({ url: api.api.url, token, path, fetch: breaking }),
    ({ type }) => type,
  )
  expect([types, connections]).toEqual([['session.created', 'run.started', 'run.completed'], 2])
})

test('a follower ends with its signal, also if its fetch does not know the signal', async () => {
  const stop = new AbortController()
  const deaf = async ({ url, headers }: Request) => {
    const response = await fetch(url, { headers })
    setImmediate(() => stop.abort())
    return response
  }
  const options = { url: api.api.url, token, path: '/v1/events', fetch: deaf, signal: stop.signal }
  expect(await followEvents(options).next()).toEqual({ done: true, value: undefined })
})

test('throws what the API refuses, with its code', async () => {
  const troupe = connectHttp({ url: api.api.url, token })
  const unknown = troupe.GET('/v1/sessions/{id}', { params: { path: { id: '0199f3a2-5c1e-7b04-9d68-3e0f7a21c000' } } })
  await expect(unknown).rejects.toMatchObject({ status: 404, code: 'session_not_found' })
  await expect(troupe.POST('/v1/pause')).rejects.toBeInstanceOf(HttpProblem)
  const nobody = connectHttp({ url: api.api.url })
  await expect(nobody.GET('/v1/nodes')).rejects.toMatchObject({ status: 401, code: 'token_missing' })
  const following = followEvents({ url: api.api.url, path: '/v1/events' }).next()
  await expect(following).rejects.toMatchObject({ status: 401 })
  const noStream = followEvents({ url: api.api.url, token, path: '/v1/nodes' }).next()
  await expect(noStream).rejects.toThrow('no stream of events')
  const ofNone = followEvents({ url: api.api.url, token, path: '/v1/events?limit=0' }).next()
  await expect(ofNone).rejects.toMatchObject({ status: 400 })
  for (const [url, what] of [
    ['localhost:7333', 'must be an address of http or https, like http://localhost:7333'],
    ['127.0.0.1:7333', 'Failed to parse URL'],
  ] as const)
    await expect(followEvents({ url, path: '/v1/events' }).next()).rejects.toThrow(what)
})
