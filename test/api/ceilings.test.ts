/** Tokens that ask for no more than their ceiling. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startApi } from '../../src/api/api.ts'
import type { AppSettings } from '../../src/api/app/app-settings.ts'
import { optionsOf } from '../../src/api/app/route-options.ts'
import { type Ceiling, underCeiling } from '../../src/api/guard/ceiling.ts'
import { entryOf } from '../../src/api/guard/tokens.ts'
import type { Route } from '../../src/api/route.ts'
import { routes } from '../../src/api/routes.ts'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import type { Notify } from '../../src/core/worker/notify.ts'
import { TestApi } from './support/test-api.ts'

const ceiling: Ceiling = {
  kinds: ['echo'],
  models: ['test/small'],
  queues: ['results', 'mine:done'],
  limits: { tokens: 1_000, workers: 5 },
  permissions: { tools: ['look', 'list'], folder: '/srv/docs', send: 'family' },
}
/** Each session may use 400 tokens, and all of an hour 1 000. */
const hourly: Ceiling = { limits: { tokens: 400 }, perHour: { tokens: 1_000, sessions: 5 } }
const tokenOf = (name: string) => name.padEnd(40, 'x')
const bearer = (name: string) => ({ authorization: `Bearer ${tokenOf(name)}` })

let api: TestApi
beforeAll(async () => {
  const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })
  const tokens = [
    entryOf(tokenOf('free'), { name: 'free', rights: ['operate'] }, 'test'),
    entryOf(tokenOf('bound'), { name: 'bound', rights: ['operate'], ceiling }, 'test'),
    ...['one', 'two'].map((name) => entryOf(tokenOf(name), { name, rights: ['operate'], ceiling: hourly }, 'test')),
  ]
  api = await TestApi.start({ echo, other: echo }, { tokens })
})
afterAll(() => api[Symbol.asyncDispose]())

test('a limit that a request leaves out is the ceiling, if that is below the default', async () => {
  const { body } = await api.post('/v1/sessions', { kind: 'echo', input: 1 }, { ...bearer('bound'), prefer: 'wait=30' })
  const { session, workers } = (await api.get(`/v1/sessions/${body.sessionId}`, bearer('bound'))).body
  expect(session.limits).toMatchObject({ tokens: 1_000, workers: 5, modelCalls: 500 })
  expect(workers[0].permissions).toEqual(ceiling.permissions)
  const high: Ceiling = { limits: { tokens: 1e12 } }
  expect(underCeiling({ name: 'x', ceiling: high }, { kind: 'echo', limits: {} }).limits).toEqual({ tokens: 2_000_000 })
})

test('permissions of a session are those that both the token and the request allow', () => {
  const asked = { kind: 'echo', limits: { tokens: 5 }, permissions: { tools: ['list', 'pay'], folder: '/srv/docs/a' } }
  expect(underCeiling({ name: 'bound', ceiling }, asked)).toEqual({
    kind: 'echo',
    limits: { tokens: 5, workers: 5 },
    permissions: { tools: ['list'], folder: '/srv/docs/a', send: 'family' },
  })
  expect(underCeiling({ name: 'free' }, asked)).toBe(asked)
})

test('results go to the queues that the ceiling names, and to addresses', () => {
  const under = (ceiling: Ceiling, notify: Notify) => underCeiling({ name: 'x', ceiling }, { kind: 'echo', notify })
  const fine: Notify[] = [
    { queue: 'results' },
    { queue: 'results', prefix: 'bull' },
    { queue: 'done', prefix: 'mine' },
    { url: 'https://results.example/' },
  ]
  for (const notify of fine) expect(under(ceiling, notify)).toMatchObject({ notify })
  expect(under({ kinds: ['echo'] }, { queue: 'any' })).toMatchObject({ notify: { queue: 'any' } })
  expect(() => under({ queues: [] }, { queue: 'any' })).toThrow('the ceiling of token "x" allows no queue, so not any.')
})

test('a request above the ceiling is refused, however it is made; another token may make it', async () => {
  const create = async (name: string, body: object) => (await api.post('/v1/sessions', body, bearer(name))).body
  const { sessionId, workerId } = await create('free', { kind: 'echo', input: 1, keepOpen: true })
  const requests: readonly (readonly [method: string, path: string, body: object])[] = [
    ['POST', '/v1/sessions', { kind: 'other' }],
    ['POST', '/v1/sessions', { kind: 'echo', limits: { tokens: 1_001 } }],
    ['POST', '/v1/sessions', { kind: 'echo', notify: { queue: 'payments' } }],
    ['POST', '/v1/sessions', { kind: 'echo', notify: { queue: 'results', prefix: 'shop' } }],
    ['POST', '/v1/sessions', { kind: 'echo', notify: { queue: 'done' } }],
    ['POST', '/v1/sessions', { kind: 'echo', permissions: { folder: '/srv/docs/../private' } }],
    ['PATCH', `/v1/sessions/${sessionId}/limits`, { tokens: 1_001 }],
    ['POST', `/v1/sessions/${sessionId}/retry`, { limits: { tokens: 1_001 } }],
    ['POST', `/v1/sessions/${sessionId}/fork`, {}],
    ['POST', `/v1/workers/${workerId}/fork`, {}],
    ['POST', `/v1/workers/${workerId}/configure`, { model: 'test/big' }],
    ['POST', '/v1/dead/1-0/redrive', { newSession: true }],
  ]
  for (const [method, path, body] of requests) {
    const bound = await api.call(method, path, body, bearer('bound'))
    expect({ path, status: bound.status, code: bound.body.code }).toEqual({
      path,
      status: 403,
      code: 'ceiling_exceeded',
    })
    expect((await api.call(method, path, body, bearer('free'))).body?.code).not.toBe('ceiling_exceeded')
  }
  expect((await api.call('PATCH', `/v1/sessions/${sessionId}/limits`, { tokens: 9 }, bearer('bound'))).status).toBe(200)
})

/** Gives the token `one` sessions of 400, 400 and 100 tokens: 100 of its tokens are left. */
async function giveNineHundred(): Promise<string> {
  const create = async (limits?: object, key?: string) => {
    const headers = { ...bearer('one'), ...(key !== undefined && { 'idempotency-key': key }) }
    const { status, body } = await api.post('/v1/sessions', { kind: 'echo', input: 1, keepOpen: true, limits }, headers)
    expect(status).toBe(202)
    return body.sessionId as string
  }
  await create()
  const second = await create({ tokens: 400 }, 'k')
  expect(await create({ tokens: 400 }, 'k')).toBe(second)
  return create({ tokens: 100 })
}

test('everything that a token gives its sessions within an hour is bounded, over all servers, even by raised limits (ALLOWANCE-1, ALLOWANCE-2)', async () => {
  const last = await giveNineHundred()
  const { redisUrl, namespace } = api.troupe
  const tokens = ['one', 'two'].map((name) =>
    entryOf(tokenOf(name), { name, rights: ['operate'], ceiling: hourly }, 'test'),
  )
  await using other = await startApi({ redisUrl, namespace, port: 0, tokens })
  const ask = async (
    method: string,
    path: string,
    body: object,
    headers: Record<string, string> = {},
    name = 'one',
  ) => {
    const reply = await fetch(`${other.url}${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...bearer(name), ...headers },
      body: JSON.stringify(body),
    })
    return { status: reply.status, headers: reply.headers, body: (await reply.json()) as Record<string, unknown> }
  }
  const session = { kind: 'echo', input: 1, keepOpen: true }
  const raise = (tokens: number, headers = {}) => ask('PATCH', `/v1/sessions/${last}/limits`, { tokens }, headers)
  for (const refused of [
    await ask('POST', '/v1/sessions', session),
    await raise(201),
    await ask('POST', `/v1/sessions/${last}/retry`, { limits: { tokens: 201 } }),
  ]) {
    expect(refused).toMatchObject({ status: 429, body: { code: 'allowance_exceeded' } })
    expect(refused.body.detail).toContain('It has given 900, and this would be')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3_500)
  }
  // The session belongs to the first server, as far as Redis knows its key, so this request counts no second time.
  const again = await ask('POST', '/v1/sessions', { ...session, limits: { tokens: 400 } }, { 'idempotency-key': 'k' })
  expect(again.status).toBe(202)
  expect((await ask('POST', '/v1/sessions', session, {}, 'two')).status).toBe(202)
  // Lower limits give nothing, even beside higher ones. 50, 25 and 25 are what was left: another request counts, even under a key that was used elsewhere.
  for (const tokens of [150, 150]) expect((await raise(tokens)).status).toBe(200)
  const limits = `/v1/sessions/${last}/limits`
  expect((await ask('PATCH', limits, { tokens: 20, modelCalls: 501 })).status).toBe(200)
  const key = { 'idempotency-key': 'limits' }
  expect((await raise(45, key)).status).toBe(200)
  expect((await api.call('PATCH', limits, { tokens: 70 }, { ...bearer('one'), ...key })).status).toBe(200)
  expect(await raise(71)).toMatchObject({ status: 429, body: { code: 'allowance_exceeded' } })
  expect(await ask('POST', '/v1/sessions', { ...session, limits: { tokens: 1_001 } })).toMatchObject({
    status: 403,
    body: { code: 'ceiling_exceeded' },
  })
})

test('one session may have at most what its token may spend in an hour, also by default', () => {
  const caller = { name: 'x', ceiling: { perHour: { tokens: 9 } } }
  expect(underCeiling(caller, { kind: 'echo' })).toEqual({ kind: 'echo', limits: { tokens: 9 } })
  expect(() => underCeiling(caller, { kind: 'echo', limits: { tokens: 10 } })).toThrow('limits.tokens of at most 9')
})

test('every route that changes sessions declares how the ceiling applies to it (ROUTE-3)', () => {
  const { ceiling: _, ...silent } = routes.find(({ id }) => id === 'createSession') as Route
  expect(() => optionsOf(silent, {} as AppSettings)).toThrow('does not say what a ceiling forbids')
})
