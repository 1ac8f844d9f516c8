/** What one caller may use of a server: requests, streams, memory; and which error it gets when a stream or a server ends. */
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { createServer, type Server as HttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { connect as dial, type Socket } from 'node:net'
import { networkInterfaces, tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { startApi } from '../../src/api/api.ts'
import { buildApp } from '../../src/api/app/app.ts'
import { KnownHosts } from '../../src/api/guard/origin.ts'
import { entryOf, Tokens } from '../../src/api/guard/tokens.ts'
import type { Route } from '../../src/api/route.ts'
import { routes } from '../../src/api/routes.ts'
import { Server } from '../../src/api/server.ts'
import { answerWithStream } from '../../src/api/stream/answer-with-stream.ts'
import { SseWriter } from '../../src/api/stream/sse.ts'
import { Session } from '../../src/client/session/session.ts'
import { stackCharsMax } from '../../src/core/code-place.ts'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { waitUntil } from '../support/time/wait-until.ts'
import { talker } from './support/talker.ts'
import { TestApi } from './support/test-api.ts'
import { testRoute } from './support/test-route.ts'

const mebibyte = 1_048_576
const tokenOf = (name: string) => name.padEnd(40, 'x')
const entries = ['ada', 'bob'].map((name) => entryOf(tokenOf(name), { name, rights: ['admin'] }, 'test'))
const bearer = (name: string) => ({ authorization: `Bearer ${tokenOf(name)}` })

/** Waits for a timer that is due in an hour. */
const waiter = defineWorker({
  receive: (message, self) => void (message.kind === 'input' && self.after(3_600_000, 'late')),
})

let api: TestApi
beforeAll(async () => {
  api = await TestApi.start({ talker, waiter })
})
afterAll(() => api[Symbol.asyncDispose]())

/** The server with its insides in reach, in the namespace of the test. */
async function openApp({
  routes: some = routes,
  tokens = null,
  page = null,
  rate = 1_000,
}: {
  routes?: readonly Route[]
  tokens?: Tokens | null
  page?: string | null
  rate?: number
}) {
  const { redisUrl, namespace } = api.troupe
  const server = new Server({ redisUrl, namespace, isReadOnly: false })
  const app = await buildApp({
    server,
    hosts: new KnownHosts('127.0.0.1', []),
    tokens,
    log: server.log,
    rate,
    page,
    routes: some,
  })
  const close = async () => {
    server.stop()
    await app.close()
    await server.close()
  }
  return { server, app, [Symbol.asyncDispose]: close }
}

test('a file of the page that is not there is not taken for one that never changes', async () => {
  const page = await mkdtemp(join(tmpdir(), 'page-'))
  await mkdir(join(page, 'assets'))
  await writeFile(join(page, 'assets', 'new.js'), '')
  await using opened = await openApp({ page })
  const keepsFor = async (url: string) => {
    const { statusCode, headers } = await opened.app.inject({ url, headers: { host: '127.0.0.1' } })
    return [statusCode, headers['cache-control']]
  }
  expect(await keepsFor('/assets/new.js')).toEqual([200, 'public, max-age=31536000, immutable'])
  expect(await keepsFor('/assets/old.js')).toEqual([404, 'no-store'])
})

test.each([
  ['GET', 'workers/:id/history?after=', '/query/after'],
  ['GET', 'sessions/:id/events?types=', '/query/types'],
  ['POST', 'workers/:id/undo', '/body'],
])('%s %s is refused with a value that is empty, or one that nobody knows, in %s', async (method, path, pointer) => {
  const address = `/v1/${path.replace(':id', '0199f3a2-5c1e-7b04-9d68-3e0f7a21c000')}`
  const { status, body } = await api.call(method, address, method === 'GET' ? undefined : { steps: 2 })
  expect([status, body.errors[0].pointer]).toEqual([400, pointer])
})

test('a request without a field that it needs is refused with plain words', async () => {
  const { status, body } = await api.call('POST', '/v1/workers/0199f3a2-5c1e-7b04-9d68-3e0f7a21c000/messages', {})
  expect(body.errors).toEqual([{ pointer: '/body/input', message: 'is missing' }])
  expect([status, body.detail]).toEqual([400, 'body.input: is missing.'])
})

test('a request of thousands of wrong values is answered with the first ones', async () => {
  const wrong = (body: object) => api.post('/v1/sessions', { kind: 'talker', ...body })
  const names = Object.fromEntries(Array.from({ length: 5_000 }, (_, number) => [`name${number}`, 1]))
  for (const body of [
    { limits: names },
    { history: Array(5_000).fill(1) },
    { permissions: { tools: Array(9_999).fill(1) } },
  ]) {
    const { status, body: told } = await wrong(body)
    expect([status, told.code]).toEqual([400, 'input_invalid'])
    expect(JSON.stringify(told).length).toBeLessThan(5_000)
  }
  expect((await wrong({ limits: { one: 1 }, history: [1] })).body.detail).toMatch(/; and 1 more\.$/)
  const { body: told } = await wrong({ history: Array(5_000).fill(1) })
  expect(told.errors).toHaveLength(20)
  expect(told.detail).toMatch(/; and 4999 more\.$/)
})

test('a caller that sends too many requests is told when to come back; others are not held up', async () => {
  const { redisUrl, namespace } = api.troupe
  await using limited = await startApi({ redisUrl, namespace, port: 0, tokens: entries, rate: 3 })
  const ask = (path: string, headers = {}) => fetch(`${limited.url}${path}`, { headers })
  const seen = []
  for (let number = 0; number < 4; number++) seen.push((await ask('/v1/kinds', bearer('ada'))).status)
  expect(seen).toEqual([200, 200, 200, 429])
  const refused = await ask('/v1/nodes', bearer('ada'))
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(1)
  expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(10)
  expect(await refused.json()).toMatchObject({ status: 429, code: 'too_many_requests' })
  expect((await ask('/v1/nodes', bearer('bob'))).status).toBe(200)
  expect((await ask('/healthz')).status).toBe(200)
})

test('requests without a token are limited by address, so that one stranger cannot make the server look dead', async () => {
  await using opened = await openApp({ rate: 3 })
  const ask = (remoteAddress: string) =>
    opened.app.inject({ url: '/healthz', headers: { host: 'localhost' }, remoteAddress })
  for (let number = 0; number < 3; number++) expect((await ask('192.0.2.1')).statusCode).toBe(200)
  expect((await ask('192.0.2.1')).statusCode).toBe(429)
  expect((await ask('192.0.2.2')).statusCode).toBe(200)
})

test('a caller has a bounded number of streams, of both sorts together', async () => {
  await using opened = await openApp({ tokens: new Tokens(entries) })
  const { body } = await api.post('/v1/sessions', { kind: 'talker', input: 1 }, { prefer: 'wait=60' })
  const follow = (path: string, name: string) =>
    opened.app.inject({ url: path, headers: { host: 'localhost', ...bearer(name) } })
  const paths = [`/v1/sessions/${body.sessionId}/events?after=0-0`, '/v1/events?after=0-0&limit=1']
  const own = { name: 'ada', rights: ['admin'] } as const
  const open = Array.from({ length: 500 }, () => opened.server.streams.open(own, {} as ServerResponse))
  for (const path of paths) {
    const refused = await follow(path, 'ada')
    expect(refused.statusCode).toBe(429)
    expect(refused.json()).toMatchObject({ code: 'too_many_requests', detail: expect.stringContaining('500') })
    expect((await follow(path, 'bob')).statusCode).toBe(200)
  }
  open[0]?.[Symbol.dispose]()
  for (const path of [...paths, ...paths]) expect((await follow(path, 'ada')).statusCode).toBe(200)
})

test('the client of a caller whose token is taken back is closed', async () => {
  const { redisUrl, namespace } = api.troupe
  await using server = new Server({ redisUrl, namespace, isReadOnly: false })
  const [ada, bob] = await Promise.all(['ada', 'bob'].map((name) => server.acting(name)))
  server.keepActing(new Set(['bob']))
  await waitUntil('its client is closed', async () => {
    const end = await ada?.nodes().catch(({ code }: { code: string }) => code)
    return end === 'client_closed'
  })
  expect(await server.acting('bob')).toBe(bob)
  expect((await (await server.acting('ada')).nodes()).length).toBe(1)
})

test('a key of a request has 1 to 255 visible characters', async () => {
  const statusOf = async (key: string) =>
    (await api.post('/v1/sessions', { kind: 'talker', input: 0 }, { 'idempotency-key': key })).status
  const keys = ['a b', 'ü', 'x'.repeat(256), 'x'.repeat(255), '!~']
  expect(await Promise.all(keys.map(statusOf))).toEqual([400, 400, 400, 202, 202])
})

test('a client that could not be opened is opened anew by the next call', async () => {
  await using server = new Server({ redisUrl: 'no-address', isReadOnly: false })
  for (const open of [() => server.reading(), () => server.acting('ada')]) {
    const first = open()
    await expect(first).rejects.toMatchObject({ code: 'config_invalid' })
    const next = open()
    expect(next).not.toBe(first)
    await next.catch(() => {})
  }
})

test('a server that cannot have its port keeps no connection', async () => {
  const { redisUrl, namespace } = api.troupe
  const closing = vi.spyOn(Server.prototype, 'close')
  await expect(startApi({ redisUrl, namespace, port: api.api.port })).rejects.toThrow(
    /^port \d+ of 127\.0\.0\.1 is taken/,
  )
  expect(closing).toHaveBeenCalledOnce()
})

/** A reply whose caller reads nothing until `socket` is resumed. */
async function unreadReply(): Promise<{ http: HttpServer; out: ServerResponse; socket: Socket }> {
  const { promise, resolve } = Promise.withResolvers<ServerResponse>()
  const http = createServer((_: IncomingMessage, out) => resolve(out)).listen(0, '127.0.0.1')
  await new Promise((listening) => http.once('listening', listening))
  const socket = dial((http.address() as { port: number }).port, '127.0.0.1').pause()
  socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n')
  return { http, out: await promise, socket }
}

test('a caller lags as soon as 1 MiB waits for it, even within one pass of the event loop, and no more once it has read', async () => {
  const { http, out, socket } = await unreadReply()
  const { signal } = new AbortController()
  {
    using writer = new SseWriter(out, {}, signal)
    let sent = 0
    for (let round = 0; round < 20; round++) {
      for (; !writer.lags && sent < 100 * mebibyte; sent += 1_024)
        writer.send({ type: 'x', json: JSON.stringify('y'.repeat(1_022)) })
      expect(out.writableLength).toBeLessThan(mebibyte + 65_536)
      // The bytes that the system took wait no more.
      if (writer.lags) await new Promise((resolve) => setImmediate(resolve))
    }
    expect(writer.lags).toBe(true)
    const drained = writer.drained(signal)
    socket.resume()
    await drained
    expect(writer.lags).toBe(false)
  }
  socket.destroy()
  http.close()
})

test('a caller that has read nothing for a minute is cut off', async () => {
  const { http, out, socket } = await unreadReply()
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    using writer = new SseWriter(out, {}, new AbortController().signal)
    writer.send({ type: 'x', json: JSON.stringify('y'.repeat(50 * mebibyte)) })
    const drained = writer.drained(new AbortController().signal).catch((error: Error) => error.message)
    vi.advanceTimersByTime(59_000)
    expect(out.destroyed).toBe(false)
    vi.advanceTimersByTime(1_000)
    expect(await drained).toMatch('reads nothing')
    expect(out.destroyed).toBe(true)
  } finally {
    vi.useRealTimers()
    socket.destroy()
    http.close()
  }
})

test('a reader that reads nothing costs the server about 1 MiB, however many events there are', async () => {
  await using opened = await openApp({})
  const sockets: Socket[] = []
  opened.app.server.on('connection', (socket) => sockets.push(socket))
  await opened.app.listen({ host: '127.0.0.1', port: 0 })
  const { port } = opened.app.server.address() as { port: number }
  const { body } = await api.post('/v1/sessions', { kind: 'talker', input: 1, keepOpen: true })
  const path = `/v1/sessions/${body.sessionId}`
  const reader = dial(port, '127.0.0.1').pause()
  reader.write(`GET ${path}/events?after=0-0&history=all HTTP/1.1\r\nhost: localhost\r\n\r\n`)
  await waitUntil('the stream has begun', () => sockets[0] !== undefined && sockets[0].bytesWritten > 0)
  let most = 0
  for (let number = 1; number <= 5; number++) {
    await api.post(`${path}/messages`, { input: 2_000 })
    await waitUntil('the message is answered', async () => {
      most = Math.max(most, sockets[0]?.writableLength ?? 0)
      return (await api.get(path)).body.workers[0].runs > number
    })
  }
  expect(sockets[0]?.bytesWritten).toBeGreaterThan(mebibyte)
  expect(most).toBeLessThan(2 * mebibyte)
  reader.destroy()
})

test('a stream that fails is cut off, so that it does not look complete', async () => {
  const failing = testRoute('failing', {
    path: '/v1/failing/events',
    raw: 'text/event-stream',
    handle: (call) =>
      answerWithStream(call, async (writer) => {
        writer.send({ id: '1-0', type: 'x', json: '1' })
        await new Promise((resolve) => setImmediate(resolve))
        throw new Error('Redis is away')
      }),
  })
  await using opened = await openApp({ routes: [failing] })
  const warn = vi.spyOn(opened.server.log, 'warn')
  const url = await opened.app.listen({ host: '127.0.0.1', port: 0 })
  await expect(fetch(`${url}/v1/failing/events`).then((reply) => reply.text())).rejects.toThrow('terminated')
  expect(warn).toHaveBeenCalledWith('a stream failed and was cut off', expect.objectContaining({ caller: 'local' }))
})

test('a fault is logged with its reason and place, under the id that its caller is told', async () => {
  const broken = testRoute('broken', {
    handle: () => {
      throw new Error('the record cannot be read', { cause: new Error('it ends too early') })
    },
  })
  await using opened = await openApp({ routes: [broken] })
  const error = vi.spyOn(opened.server.log, 'error')
  const url = await opened.app.listen({ host: '127.0.0.1', port: 0 })
  const reply = await fetch(`${url}/v1/broken`)
  const { id, detail } = (await reply.json()) as { id: string; detail: string }
  expect([reply.status, detail]).toEqual([500, expect.stringContaining(id)])
  expect(error).toHaveBeenCalledExactlyOnceWith('a request failed with an unexpected error', {
    id,
    method: 'GET',
    path: '/v1/broken',
    error: 'the record cannot be read: it ends too early',
    stack: expect.stringContaining('bounds.test.ts'),
  })
})

test('each request is logged with its caller and without its query, which may hold a ticket; one that anybody may make is not', async () => {
  await using opened = await openApp({ tokens: new Tokens(entries) })
  const debug = vi.spyOn(opened.server.log, 'debug')
  const ask = (url: string) => opened.app.inject({ url, headers: { host: 'localhost', ...bearer('ada') } })
  for (const url of ['/healthz', '/v1/kinds', '/v1/events?ticket=hush']) await ask(url)
  const answered = { method: 'GET', ms: expect.any(Number) }
  expect(debug.mock.calls).toEqual([
    ['answered a request', { ...answered, path: '/v1/kinds', status: 200, caller: 'ada' }],
    ['answered a request', { ...answered, path: '/v1/events', status: 401, caller: 'nobody' }],
  ])
})

test('the stack of a fault is logged up to a bound', async () => {
  const long = new Error('too much')
  long.stack = `Error: too much\n${'    at x (/srv/x.ts:1:1)\n'.repeat(10_000)}`
  const broken = testRoute('broken', {
    handle: () => {
      throw long
    },
  })
  await using opened = await openApp({ routes: [broken] })
  const error = vi.spyOn(opened.server.log, 'error')
  await opened.app.inject({ url: '/v1/broken', headers: { host: 'localhost' } })
  expect(error.mock.calls[0]?.[1]?.stack).toHaveLength(stackCharsMax)
})

const hasIpv6 = Object.values(networkInterfaces()).some((of) => of?.some(({ address }) => address === '::1'))

test.skipIf(!hasIpv6)('an API that listens on an address of IPv6 says so in its own address', async () => {
  const { redisUrl, namespace } = api.troupe
  await using own = await startApi({ redisUrl, namespace, host: '::1', port: 0 })
  expect(own.url).toBe(`http://[::1]:${own.port}`)
  expect((await fetch(`${own.url}/healthz`)).status).toBe(200)
})

test('a caller that leaves while it waits is no fault; a caller that waits when the server stops is asked to try again', async () => {
  const lines: { level: string; message: string; status?: number }[] = []
  const at = (level: string) => (fields: object, message: string) => void lines.push({ level, message, ...fields })
  const logger = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  const { redisUrl, namespace } = api.troupe
  await using own = await startApi({ redisUrl, namespace, port: 0, logger })
  const { body } = await api.post('/v1/sessions', { kind: 'waiter', input: 1 })
  const wait = (signal?: AbortSignal) =>
    fetch(`${own.url}/v1/sessions/${body.sessionId}/result?wait=60`, { signal: signal ?? null })
  const asked = vi.spyOn(Session.prototype, 'result')
  const going = new AbortController()
  const gone = wait(going.signal).catch(() => {})
  const staying = wait()
  await waitUntil('both requests wait', () => asked.mock.calls.length === 2)
  going.abort()
  await gone
  await expect(Promise.race(asked.mock.results.map(({ value }) => value))).rejects.toThrow('the caller has gone')
  await own.close()
  const told = await staying
  expect(told.status).toBe(503)
  expect(await told.json()).toMatchObject({ code: 'client_closed' })
  expect(lines.filter(({ level }) => level === 'error')).toEqual([])
})

test('a caller that has left while its client was opened is not waited for', async () => {
  const { body } = await api.post('/v1/sessions', { kind: 'waiter', input: 1 })
  await using opened = await openApp({})
  const url = await opened.app.listen({ host: '127.0.0.1', port: 0 })
  const client = await opened.server.reading()
  const left = Promise.withResolvers<void>()
  opened.app.server.on('connection', (socket) => socket.once('close', left.resolve))
  const going = new AbortController()
  vi.spyOn(opened.server, 'reading').mockImplementation(async () => {
    going.abort()
    await left.promise
    return client
  })
  const asked = vi.spyOn(Session.prototype, 'result')
  await fetch(`${url}/v1/sessions/${body.sessionId}/result?wait=60`, { signal: going.signal }).catch(() => {})
  await waitUntil('the route waits for the result', () => asked.mock.calls.length === 1)
  await expect(asked.mock.results[0]?.value).rejects.toThrow('the caller has gone')
})
