/** How the server refuses: what a fault tells its caller, and that nobody can try out addresses. It needs no Redis. */
import { mkdir, mkdtemp, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import { startApi } from '../../src/api/api.ts'
import { buildApp } from '../../src/api/app/app.ts'
import { KnownHosts } from '../../src/api/guard/origin.ts'
import { entryOf, Tokens } from '../../src/api/guard/tokens.ts'
import { Server } from '../../src/api/server.ts'
import { ConfigError, InvariantError, LimitError, TransientError } from '../../src/core/errors.ts'
import { testRoute } from './support/test-route.ts'

const token = 'x'.repeat(40)

/** The server with one route, which throws this. */
async function appThatThrows(thrown: unknown, page: string | null = null) {
  const server = new Server({ isReadOnly: false })
  const throwing = testRoute('throwing', {
    handle: () => {
      throw thrown
    },
  })
  const tokens = new Tokens([entryOf(token, { name: 'ada', rights: ['read'] }, 'test')])
  const hosts = new KnownHosts('127.0.0.1', [])
  const app = await buildApp({ server, hosts, tokens, log: server.log, rate: 1_000, page, routes: [throwing] })
  const ask = (method: string, url: string, headers: object = {}) =>
    app.inject({ method: method as 'GET', url, headers: { host: '127.0.0.1', ...headers } })
  return { server, ask, [Symbol.asyncDispose]: () => app.close() }
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

test.each(['0.0.0.0', '::', '192.168.1.1', '127.example.com'])(
  'a server that others may reach at %s does not start without a token, nor with an empty list of them',
  async (host) => {
    for (const tokens of [undefined, []])
      await expect(startApi({ host, port: 0, tokens })).rejects.toMatchObject({ code: 'config_invalid' })
  },
)
