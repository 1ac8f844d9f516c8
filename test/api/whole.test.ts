/** The routes as a whole: none without a command, no command without a route, and no request that makes the server fail. */
import type { Command } from 'commander'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { openApiDocument } from '../../src/api/openapi.ts'
import type { Route } from '../../src/api/route.ts'
import { routes } from '../../src/api/routes.ts'
import { buildProgram } from '../../src/cli/program.ts'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import type { paths } from '../../src/http/index.ts'
import { TestApi } from './support/test-api.ts'

/** Commands that have no route, and why. */
const withoutRoute: Readonly<Record<string, string>> = {
  'partition raise': 'the server of the API must start again after it',
  demo: 'it runs a node here',
  run: 'it runs a node here; over HTTP: POST /v1/sessions with Prefer: wait',
  node: 'it is a node',
  serve: 'it is the server',
  dev: 'it is the server, and a node',
  new: 'it writes files here',
  completion: 'it is about the shell',
  complete: 'it is about the shell',
  tools: 'it reads worker files here',
  'session import': 'POST /v1/sessions takes a history',
  'session export': 'GET /v1/sessions/{id}/export writes all of a session; formats of other programs are for files',
  'session prune': 'nodes prune by themselves; by hand it removes data for good',
  'worker diff': 'GET /v1/workers/{id}/context has both sides',
  'worker push': 'a program that writes conversations has the library',
  'token create': 'the server only reads its file',
  'token list': 'the server only reads its file',
  'token remove': 'the server only reads its file',
}

function leaves(command: Command, words: readonly string[] = []): string[] {
  const children = command.commands.filter((child) => child.name() !== 'help')
  return children.length === 0
    ? [words.join(' ')]
    : children.flatMap((child) => leaves(child, [...words, child.name()]))
}

test('each route names a command that exists, and each command has a route or a reason to have none', () => {
  const commands = new Set(leaves(buildProgram()))
  const named = new Set(routes.flatMap(({ cli }) => ('command' in cli ? [cli.command] : [])))
  expect([...named].filter((name) => !commands.has(name))).toEqual([])
  const unreachable = [...commands].filter((name) => !named.has(name) && withoutRoute[name] === undefined)
  expect(unreachable).toEqual([])
  expect(Object.keys(withoutRoute).filter((name) => named.has(name))).toEqual([])
})

test('the document, the types of the client and the routes have the same operations', () => {
  const document = openApiDocument(routes) as {
    readonly paths: Record<string, Record<string, { operationId: string }>>
  }
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))
  expect(operations.map(({ operationId }) => operationId).toSorted()).toEqual(routes.map(({ id }) => id).toSorted())
  // A path that the client lacks would be an error of the compiler.
  const known: readonly (keyof paths)[] = [
    '/v1/sessions',
    '/v1/sessions/{id}/events',
    '/v1/approvals/{id}',
    '/v1/audit',
  ]
  expect(Object.keys(document.paths)).toEqual(expect.arrayContaining([...known]))
})

test('the document says which right each operation needs, that open ones need no token, and no bound that holds anyway', () => {
  const document = openApiDocument(routes) as {
    readonly security: object[]
    readonly paths: Record<string, Record<string, { operationId: string; 'x-right': string; security?: object[] }>>
  }
  expect(document.security).toEqual([{ token: [] }])
  const operations = Object.values(document.paths).flatMap((methods) => Object.values(methods))
  const said = operations.map((one) => [one.operationId, one['x-right'], one.security] as const)
  const wanted = routes.map(({ id, right }) => [id, right, right === 'open' ? [] : undefined] as const)
  expect(new Set(said)).toEqual(new Set(wanted))
  expect(JSON.stringify(document)).not.toContain(String(Number.MAX_SAFE_INTEGER))
})

describe('whatever is sent', () => {
  let api: TestApi
  let ids: Record<string, string>
  beforeAll(async () => {
    const asker = defineWorker({ receive: (message, self) => void (message.kind === 'input' && self.ask('?')) })
    api = await TestApi.start(
      { asker, echo: defineWorker({ receive: (m, self) => self.reply(m.value) }) },
      { rate: 1_000_000 },
    )
    const { body } = await api.post('/v1/sessions', { kind: 'echo', input: 1 }, { prefer: 'wait=60' })
    ids = { session: body.sessionId, worker: body.workerId }
  })
  afterAll(() => api[Symbol.asyncDispose]())

  /** Requests to these routes would pause the other tests, wait, or never end. */
  const left = new Set([
    'followSession',
    'followFleet',
    'pauseAll',
    'resumeAll',
    'compactWorker',
    'configureWorker',
    'runWorker',
  ])
  const some = routes.filter(({ id }) => !left.has(id))

  const odd = fc.constantFrom(
    '',
    ' ',
    '0',
    '-1',
    '1e9',
    'true',
    'null',
    '{}',
    '{*}',
    '../..',
    '%00',
    '\u202e',
    '9'.repeat(40),
    'x'.repeat(300),
    '0199f3a2-5c1e-7b04-9d68-3e0f7a21c000',
  )
  const value = fc.oneof(
    odd,
    fc.jsonValue({ maxDepth: 3 }),
    fc.double(),
    fc.constantFrom('echo', 'asker', 'queue', 'approve'),
  )
  const idOf = (path: string) =>
    fc.oneof(
      { weight: 3, arbitrary: fc.constant(path.includes('/workers/') ? 'worker' : 'session') },
      { weight: 1, arbitrary: fc.constant('odd') },
    )

  function keysOf(schema: Route['body']): string[] {
    const unwrapped = schema instanceof z.ZodOptional ? schema.unwrap() : schema
    return unwrapped instanceof z.ZodObject ? Object.keys(unwrapped.shape) : []
  }

  test('the server answers, with less than 500, and as its document says', async () => {
    const request = fc.constantFrom(...some).chain((one) => {
      const query = keysOf(one.query)
      const body = keysOf(one.body)
      return fc.record({
        one: fc.constant(one),
        id: idOf(one.path),
        text: odd,
        query:
          query.length === 0 ? fc.constant({}) : fc.dictionary(fc.constantFrom(...query, 'foo'), odd, { maxKeys: 3 }),
        body: fc.oneof(
          {
            weight: 4,
            arbitrary:
              body.length === 0 ? fc.constant({}) : fc.dictionary(fc.constantFrom(...body), value, { maxKeys: 5 }),
          },
          { weight: 1, arbitrary: fc.jsonValue() },
        ),
      })
    })
    await fc.assert(
      fc.asyncProperty(request, async ({ one, id, text, query, body }) => {
        const path = one.path.replace(':id', id === 'odd' ? encodeURIComponent(text) || 'x' : (ids[id] as string))
        const search = new URLSearchParams(query as Record<string, string>)
        search.delete('wait')
        const address = `${path}?${search.toString()}`
        const reply = await api.call(one.method, address, one.method === 'GET' ? undefined : body)
        expect(
          reply.status,
          `${one.method} ${address} ${JSON.stringify(body)}: ${JSON.stringify(reply.body)}`,
        ).toBeLessThan(500)
      }),
      { numRuns: 400 },
    )
  })
})
