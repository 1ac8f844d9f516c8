/** Who may call what: every route that the server has, with every sort of caller. */

import { request } from 'node:http'
import { connect as dial } from 'node:net'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { startApi } from '../../src/api/api.ts'
import { type Right, rights } from '../../src/api/guard/rights.ts'
import { entryOf } from '../../src/api/guard/tokens.ts'
import { routes } from '../../src/api/routes.ts'
import { Server } from '../../src/api/server.ts'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { waitUntil } from '../support/time/wait-until.ts'
import { TestApi } from './support/test-api.ts'

const tokenOf = (name: string) => `${name}-`.padEnd(40, 'x')
const entries = rights.map((right) => entryOf(tokenOf(right), { name: right, rights: [right] }, 'test'))
const bearer = (name: string) => ({ authorization: `Bearer ${tokenOf(name)}` })
const unknown = '0199f3a2-5c1e-7b04-9d68-3e0f7a21c000'

let api: TestApi
beforeAll(async () => {
  api = await TestApi.start(
    { echo: defineWorker({ receive: (message, self) => self.reply(message.value) }) },
    { tokens: entries, hostNames: ['troupe.test'] },
  )
})
afterAll(() => api[Symbol.asyncDispose]())

/** An address of the route, of things that are not there. */
const addressOf = (path: string) =>
  path.replace(
    ':id',
    path.includes('/dead/') ? '1-0' : path.includes('/workers/') ? unknown.replace('-7', '-8') : unknown,
  )

/** What a caller of each sort gets: 401 without a token or with a wrong one, 403 without the right, or its answer. */
const outcomes: Readonly<Record<Right | 'open', string>> = {
  open: 'through through through through through through through',
  read: '401 401 401 through through through through',
  operate: '401 401 401 403 through 403 through',
  decide: '401 401 401 403 403 through through',
  admin: '401 401 401 403 403 403 through',
}

const wrongTypes = [
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/json; charset=utf-7',
  'application/jsonx',
  '',
]

describe.each(routes.map((one) => [`${one.method} ${one.path}`, one] as const))('%s', (_, one) => {
  const { method, path, right, raw } = one
  const address = addressOf(path)
  const call = async (headers: Record<string, string>, as: string = method) => {
    const reply = await fetch(api.url(address), { method: as, headers })
    await reply.body?.cancel()
    return reply.status
  }

  test('a route lets through those who may call it, and nobody else', async () => {
    const callers = [{}, { authorization: 'Bearer wrong' }, { authorization: tokenOf('admin') }, ...rights.map(bearer)]
    const seen = []
    for (const headers of callers as Record<string, string>[]) seen.push(await call(headers))
    expect(seen.map((status) => ([401, 403].includes(status) ? status : 'through')).join(' ')).toBe(outcomes[right])
  })

  test.skipIf(method !== 'GET' || raw !== undefined)('a route answers HEAD as it answers GET', async () => {
    const seen = async (as: string) => [await call({}, as), await call(bearer('read'), as)]
    expect(await seen('HEAD')).toEqual(await seen('GET'))
  })

  test('a route is refused to pages of other sites and under other names', async () => {
    const foreign = [{ origin: 'http://evil.test' }, { origin: 'null' }, { 'sec-fetch-site': 'cross-site' }]
    const seen = await Promise.all(foreign.map((headers) => call({ ...bearer('admin'), ...(headers as object) })))
    expect([...seen, await rawStatus(method, address, ['host', 'evil.test'])]).toEqual([403, 403, 403, 421])
  })

  test.skipIf(method === 'GET')('a route takes its body only as JSON', async () => {
    const head = ['host', 'troupe.test', 'authorization', bearer('admin').authorization]
    const send = (type: string) => rawStatus(method, address, [...head, ...(type ? ['content-type', type] : [])], '{}')
    expect(await Promise.all(wrongTypes.map(send))).toEqual(wrongTypes.map(() => 415))
  })
})

test.each([
  ['/', 'document', 200],
  ['/', 'iframe', 403],
  ['/v1/sessions', 'document', 403],
])('a link of another site to %s, for a %s, is answered %i', async (path, dest, status) => {
  const head = ['host', 'troupe.test', 'authorization', bearer('admin').authorization]
  const link = ['sec-fetch-site', 'cross-site', 'sec-fetch-mode', 'navigate', 'sec-fetch-dest', dest]
  expect(await rawStatus('GET', path, [...head, ...link])).toBe(status)
})

/** The status of a request that has only these headers; fetch would send more. */
function rawStatus(method: string, path: string, headers: string[], body?: string): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>()
  const length = body === undefined ? [] : ['content-length', String(body.length)]
  const call = request(
    { host: '127.0.0.1', port: api.api.port, method, path, headers: [...headers, ...length], setHost: false },
    (reply) => {
      resolve(reply.statusCode ?? 0)
      reply.destroy()
    },
  )
  call.on('error', reject)
  call.end(body)
  return promise
}

test('a request for a host name that only looks like a known one is refused; a host name that was configured is known', async () => {
  const as = (...hosts: string[]) =>
    rawStatus(
      'GET',
      '/healthz',
      hosts.flatMap((host) => ['host', host]),
    )
  const foreign = ['127.0.0.1.evil.test', 'evil.test:7333', 'localhost.', '']
  expect(await Promise.all(foreign.map((host) => as(host)))).toEqual(foreign.map(() => 421))
  const known = ['localhost', 'LOCALHOST:1', 'troupe.test', 'troupe.test:443', '[::1]:80']
  expect(await Promise.all(known.map((host) => as(host)))).toEqual(known.map(() => 200))
  expect(await as('localhost', 'evil.test')).toBeGreaterThanOrEqual(400)
  expect(await rawStatus('GET', 'http://evil.test/healthz', ['host', 'localhost'])).toBeGreaterThanOrEqual(400)
})

test('an API that asks for no token takes none later, and says so', async () => {
  const { redisUrl, namespace } = api.troupe
  await using open = await startApi({ redisUrl, namespace, port: 0 })
  expect(() => open.setTokens(entries)).toThrow(/started without tokens/)
})

test('events name the access token as who did something, and one caller does not meet the keys of another', async () => {
  const create = (name: string) =>
    api.post('/v1/sessions', { kind: 'echo', input: 1 }, { ...bearer(name), 'idempotency-key': 'k' })
  const [one, again, other] = [await create('operate'), await create('operate'), await create('admin')]
  expect(again.body).toEqual(one.body)
  expect(other.body.sessionId).not.toBe(one.body.sessionId)
  const stream = await api.get(`/v1/sessions/${one.body.sessionId}/events?after=0-0`, bearer('read'))
  expect(stream.body).toContain('"details":{"kind":"echo","by":"operate"}')
})

test('a ticket opens its stream once, and nothing else', async () => {
  const { body } = await api.post('/v1/sessions', { kind: 'echo', input: 1 }, bearer('operate'))
  const path = `/v1/sessions/${body.sessionId}/events`
  const ticket = async () => (await api.post('/v1/tickets', { path }, bearer('read'))).body.ticket as string
  const one = await ticket()
  expect((await api.get(`${path}?follow=false&ticket=${one}`)).status).toBe(200)
  expect((await api.get(`${path}?follow=false&ticket=${one}`)).status).toBe(401)
  expect((await api.get(`/v1/sessions/${body.sessionId}?ticket=${await ticket()}`)).status).toBe(401)
  expect((await api.get(`/v1/events?ticket=${await ticket()}`)).status).toBe(401)
})

test('a ticket opens nothing after 30 s', async () => {
  const waiting = { ...bearer('operate'), prefer: 'wait=60' }
  const { body } = await api.post('/v1/sessions', { kind: 'echo', input: 1 }, waiting)
  const path = `/v1/sessions/${body.sessionId}/events`
  const given = Date.now()
  const openedAfter = async (ms: number) => {
    const { ticket } = (await api.post('/v1/tickets', { path }, bearer('read'))).body
    clock.mockReturnValue(given + ms)
    const { status, body: reply } = await api.get(`${path}?follow=false&ticket=${ticket}`)
    clock.mockReturnValue(given)
    return reply.code ?? status
  }
  const clock = vi.spyOn(Date, 'now').mockReturnValue(given)
  try {
    expect([await openedAfter(30_000), await openedAfter(30_001)]).toEqual([200, 'token_unknown'])
  } finally {
    clock.mockRestore()
  }
})

test('HEAD of an address of the page is answered, and one under /v1 that nobody knows is not', async () => {
  const head = async (path: string) => (await fetch(api.url(path), { method: 'HEAD', headers: bearer('read') })).status
  expect([await head('/'), await head('/v1/unknown'), await head('/v1/events')]).toEqual([200, 404, 404])
})

const others = entries.filter(({ name }) => name !== 'read')
test.each([
  ['taken back', others],
  ['replaced under its name', [...others, entryOf(tokenOf('new'), { name: 'read', rights: ['read'] }, 'test')]],
])('a token that is %s ends its streams and its tickets; those of others stay', async (_, next) => {
  const opened = ['read', 'operate'].map((name) => fetch(api.url('/v1/events'), { headers: bearer(name) }))
  const [reader, other] = (await Promise.all(opened)).map(({ body }) => body?.getReader())
  await Promise.all([reader?.read(), other?.read()])
  const { ticket } = (await api.post('/v1/tickets', { path: '/v1/events' }, bearer('read'))).body
  const kept = vi.spyOn(Server.prototype, 'keepActing')
  api.api.setTokens(next)
  expect(kept.mock.calls).toEqual([[new Set(next.map(({ name }) => name))]])
  const ended = await waitUntil('the stream ends', () =>
    reader?.read().then(
      ({ done }) => done && 'ended',
      () => 'broken',
    ),
  )
  expect(['ended', 'broken']).toContain(ended)
  expect((await api.get('/v1/nodes', bearer('read'))).status).toBe(401)
  expect((await api.get(`/v1/events?ticket=${ticket}`)).status).toBe(401)
  const told = other?.read()
  await api.post('/v1/sessions', { kind: 'echo', input: 1 }, bearer('operate'))
  expect(await told).toMatchObject({ done: false })
  await other?.cancel()
  const [one] = entries as [(typeof entries)[0]]
  for (const wrong of [[one, one], [{ ...one, sha256: 'x' }]])
    expect(() => api.api.setTokens(wrong)).toThrow(/setTokens/)
  api.api.setTokens(entries)
})

describe('a body', () => {
  const post = (body: string) => rawPost(body)
  async function rawPost(body: string) {
    const reply = await fetch(api.url('/v1/sessions'), {
      method: 'POST',
      body,
      headers: { ...bearer('admin'), 'content-type': 'application/json' },
    })
    return { status: reply.status, body: (await reply.json()) as { code: string; detail: string } }
  }
  const nested = (depth: number) => `{"kind":"echo","input":${'['.repeat(depth)}${']'.repeat(depth)}}`

  test('a body has bounds: bytes before it is read, depth before it is parsed', async () => {
    expect(await post(`{"kind":"echo","input":"${'x'.repeat(1_048_576)}"}`)).toMatchObject({
      status: 413,
      body: { code: 'request_too_large' },
    })
    expect(await post(nested(64))).toMatchObject({ status: 400, body: { code: 'request_malformed' } })
    expect((await post(nested(63))).status).toBe(202)
    for (const begin of ['', '\\"', '\\\\'])
      expect((await post(`{"kind":"echo","input":"${begin}${'['.repeat(100)}"}`)).status).toBe(202)
  })

  test('a body cannot change a prototype', async () => {
    for (const body of [
      '{"__proto__":{"admin":true}}',
      '{"kind":"echo","input":{"constructor":{"prototype":{"admin":true}}}}',
    ])
      expect((await post(body)).status).toBe(400)
    expect(({} as { admin?: boolean }).admin).toBeUndefined()
  })

  test('a wrong body is answered with the place of the fault, and the error has no stack or path', async () => {
    const { status, body } = await post('{"kind":"echo","limits":{"tokens":"many"},"nmae":1}')
    expect(status).toBe(400)
    expect(JSON.stringify(body)).toContain('/body/limits/tokens')
    expect(JSON.stringify(body)).not.toMatch(/\.ts|node_modules|stack/)
    expect(await post('{"kind"')).toMatchObject({ status: 400, body: { code: 'request_malformed' } })
  })
})

test('a caller that sends its request too slowly is told so, and cut off', async () => {
  const socket = dial(api.api.port, '127.0.0.1')
  socket.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-slow: ')
  const { promise, resolve } = Promise.withResolvers<string>()
  let read = ''
  socket.setEncoding('utf8').on('data', (piece: string) => {
    read += piece
  })
  socket.once('close', () => resolve(read))
  const [head = '', body = ''] = (await promise).split('\r\n\r\n')
  expect(head).toMatch(/^HTTP\/1\.1 408 Request Timeout\r\n/)
  expect(JSON.parse(body)).toMatchObject({
    status: 408,
    code: 'request_malformed',
    detail: 'the request took more than 8000 ms to arrive.',
  })
})

test('an address and headers have bounds', async () => {
  expect((await api.get(`/v1/sessions?name=${'x'.repeat(9_000)}`, bearer('read'))).status).toBe(414)
  expect(await rawStatus('GET', '/healthz', ['host', 'localhost', 'x-long', 'x'.repeat(20_000)])).toBe(431)
})

test('every reply forbids a page to load or frame anything, and sets no cookie', async () => {
  for (const path of ['/healthz', '/v1/sessions', '/']) {
    const { headers } = await api.get(path)
    expect(headers.get('content-security-policy')).toContain("default-src 'self'")
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    expect(headers.has('set-cookie')).toBe(false)
    expect(headers.has('access-control-allow-origin')).toBe(false)
  }
})
