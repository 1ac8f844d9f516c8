/** How the server refuses: what a fault tells its caller, and that nobody can try out addresses. It needs no Redis. */
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { startApi } from '../../src/api/api.ts'
import { buildApp } from '../../src/api/app/app.ts'
import { KnownHosts } from '../../src/api/guard/origin.ts'
import { entryOf, Tokens } from '../../src/api/guard/tokens.ts'
import { problemOf } from '../../src/api/problem.ts'
import type { Route } from '../../src/api/route.ts'
import { Server } from '../../src/api/server.ts'
import {
  ConfigError,
  ConflictError,
  InputError,
  InvariantError,
  LimitError,
  NotFoundError,
  type RuntimeError,
  TimeoutError,
  TransientError,
} from '../../src/core/errors.ts'
import { testRoute } from './support/test-route.ts'

const token = 'x'.repeat(40)

/** The server with one route: by default one that throws this. */
async function appThatThrows(thrown: unknown, page: string | null = null, given?: Route) {
  const server = new Server({ isReadOnly: false })
  const handle = () => {
    throw thrown
  }
  const route = given ?? testRoute('throwing', { handle })
  const tokens = new Tokens([entryOf(token, { name: 'ada', rights: ['read'] }, 'test')])
  const hosts = new KnownHosts('127.0.0.1', [])
  const app = await buildApp({ server, hosts, tokens, log: server.log, rate: 1_000, page, routes: [route] })
  const ask = (method: string, url: string, headers: object = {}) =>
    app.inject({ method: method as 'GET', url, headers: { host: '127.0.0.1', ...headers } })
  return { server, http: app.server, ask, [Symbol.asyncDispose]: () => app.close() }
}

const known = { authorization: `Bearer ${token}` }

test.each([
  [new TransientError('Redis is away.', { code: 'store_unavailable' }), 503, 'store_unavailable', '1'],
  [new LimitError('mailbox_full', 'It is full.'), 429, 'mailbox_full', undefined],
])('%s is told with its status, its code and when to come back', async (thrown, status, code, after) => {
  await using app = await appThatThrows(thrown)
  const { statusCode, headers, json } = await app.ask('GET', '/v1/throwing', known)
  expect([statusCode, headers['retry-after'], headers['cache-control']]).toEqual([status, after, 'no-store'])
  expect(json()).toMatchObject({ status, code, detail: thrown.message })
})

const hidden = '/srv/hidden.json'
test.each([
  [new Error(hidden), 500, 'bug'],
  [new ConfigError(hidden), 503, 'config_invalid'],
  [Object.assign(new Error(hidden), { code: 'FST_ERR_OTHER', statusCode: 500 }), 500, 'bug'],
  [hidden, 500, 'bug'],
  [null, 500, 'bug'],
])(
  'the fault %s is told with an id that the log has, and with nothing of its words (PROBLEM-1)',
  async (thrown, status, told) => {
    await using app = await appThatThrows(thrown)
    const logged = vi.spyOn(app.server.log, 'error')
    const { body, statusCode } = await app.ask('GET', '/v1/throwing', known)
    const { code, id } = JSON.parse(body)
    expect([statusCode, code, body.includes(hidden)]).toEqual([status, told, false])
    expect(logged.mock.calls).toEqual([
      [expect.any(String), expect.objectContaining({ id, error: expect.any(String) })],
    ])
  },
)

test('data that another program overwrote is told as that, and not as a fault of the server', async () => {
  await using app = await appThatThrows(new InvariantError(hidden, { details: { damaged: hidden } }))
  const { body } = await app.ask('GET', '/v1/throwing', known)
  expect(JSON.parse(body).detail).toMatch(/^Another program wrote over stored data: run `troupe audit`\./)
  expect(body).not.toContain(hidden)
})

test.each([
  ['GET', '/v1/throwing'],
  ['GET', '/v1/unknown'],
  ['POST', '/v1/unknown'],
  ['DELETE', '/elsewhere'],
])('%s %s needs a token, whether there is such a route or not', async (method, url) => {
  await using app = await appThatThrows(new LimitError('mailbox_full', 'x'))
  const { statusCode, headers } = await app.ask(method, url)
  expect([statusCode, headers['www-authenticate']]).toEqual([401, 'Bearer'])
  expect((await app.ask(method, url, known)).statusCode).toBe(url === '/v1/throwing' ? 429 : 404)
})

test('browsers may keep files of the page whose names change with their content, and not the page itself', async () => {
  const page = await mkdtemp(join(tmpdir(), 'page-'))
  await mkdir(join(page, 'assets'))
  for (const file of ['index.html', 'icon.svg', 'assets/new.js']) await writeFile(join(page, file), 'x')
  await using app = await appThatThrows(null, page)
  const keepsFor = async (url: string) => (await app.ask('GET', url)).headers['cache-control']
  expect(await keepsFor('/assets/new.js')).toBe('public, max-age=31536000, immutable')
  for (const url of ['/', '/index.html', '/icon.svg']) expect(await keepsFor(url)).toBe('no-store')
})

test.each([
  ['/sessions', './#/sessions'],
  ['/sessions/x?tab=calls', '../#/sessions/x?tab=calls'],
  ['/sessions/x/y', '../../#/sessions/x/y'],
])('the path %s leads to the screen of that name, under the path of a proxy, too', async (url, screen) => {
  const page = await mkdtemp(join(tmpdir(), 'page-'))
  await writeFile(join(page, 'index.html'), 'x')
  await using app = await appThatThrows(null, page)
  const { statusCode, headers } = await app.ask('GET', url)
  expect([statusCode, headers.location]).toEqual([302, screen])
  expect(new URL(screen, `https://host.test/proxy${url}`).href).toBe(`https://host.test/proxy/#${url}`)
})

test('a server without the page says so at its root alone, and no refusal repeats a query, which may hold a ticket', async () => {
  await using app = await appThatThrows(null)
  const [root, other] = [await app.ask('GET', '/'), await app.ask('GET', '/sessions?ticket=hush')]
  expect([root.statusCode, root.body]).toEqual([200, expect.stringContaining('The page is not here.')])
  expect([other.statusCode, other.json().detail]).toEqual([
    404,
    'there is no GET /sessions: GET /openapi.json lists what there is.',
  ])
})

test.each(['0.0.0.0', '::', '192.168.1.1', '127.example.com'])(
  'a server that others may reach at %s does not start without a token, nor with an empty list of them',
  async (host) => {
    for (const tokens of [undefined, []])
      await expect(startApi({ host, port: 0, tokens })).rejects.toMatchObject({ code: 'config_invalid' })
  },
)

const statuses: readonly (readonly [number, readonly RuntimeError[]])[] = [
  [400, [new InputError('x')]],
  [403, [new LimitError('permission_exceeded', 'x')]],
  [
    404,
    [
      new NotFoundError('kind_unknown', 'x'),
      new NotFoundError('tool_unknown', 'x'),
      ...(['worker', 'session', 'letter', 'ask', 'webhook', 'delivery', 'node'] as const).map(
        (what) => new NotFoundError(`${what}_not_found`, 'x'),
      ),
    ],
  ],
  [
    409,
    [
      ...(['transition_illegal', 'session_finished', 'worker_terminal', 'version_stale'] as const),
      ...(['ask_answered', 'ask_expired', 'ask_withdrawn'] as const),
    ].map((code) => new ConflictError(code, 'x')),
  ],
  [413, [new LimitError('message_too_big', 'x'), new LimitError('step_too_big', 'x')]],
  [422, [new LimitError('workers_exceeded', 'x')]],
  [429, [new LimitError('mailbox_full', 'x')]],
  [
    503,
    [
      new ConflictError('client_closed', 'x'),
      ...(['store_refused', 'store_unavailable'] as const).map((code) => new TransientError('x', { code })),
    ],
  ],
  [504, [new TimeoutError('x')]],
]

test.each(statuses.flatMap(([status, errors]) => errors.map((thrown) => [thrown.code, status, thrown] as const)))(
  'the error %s is answered with %i, and a title of its own',
  (code, status, thrown) => {
    const { problem, isFault } = problemOf(thrown)
    expect([problem.status, problem.code, problem.type, problem.detail, isFault]).toEqual([
      status,
      code,
      `urn:troupe:error:${code}`,
      'x',
      false,
    ])
    expect(problem.title).not.toBe('It failed')
  },
)

test.each([
  ['/v1/%zz', {}, 400, 'request_malformed', 'the address is not written as addresses are.'],
  ['/v1/throwing', { 'content-type': 'text/plain' }, 415, 'type_unsupported', expect.stringMatching(/as JSON/)],
  [
    '/v1/throwing',
    { 'content-type': 'application/json' },
    400,
    'request_malformed',
    expect.stringMatching(/^the body is empty/),
  ],
])('a request that cannot be read is told why: %s with %j', async (url, headers, status, code, detail) => {
  const taking = testRoute('throwing', { method: 'POST', handle: () => 'taken' })
  await using app = await appThatThrows(null, null, taking)
  const reply = await app.ask('POST', url, { ...known, ...headers })
  expect(reply.headers['content-type']).toMatch(/^application\/problem\+json/)
  expect(reply.json()).toMatchObject({ status, code, detail })
})

test('a route that does not say who may call it is none that the server starts with (APP-2)', async () => {
  const open = { ...testRoute('open', { handle: () => 'x' }), right: undefined as never }
  await expect(appThatThrows(null, null, open)).rejects.toThrow('route GET /v1/open does not say who may call it')
})

test('a request that takes longer than eight seconds to arrive is ended, its body too', async () => {
  await using app = await appThatThrows(null)
  const { requestTimeout, headersTimeout } = app.http
  expect([requestTimeout, headersTimeout]).toEqual([8_000, 8_000])
})
