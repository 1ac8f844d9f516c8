/** The requests of the page: what it sends, what it makes of refusals, and when it is stale. */
import { afterAll, beforeEach, expect, test, vi } from 'vitest'

const stored = new Map<string, string>()
vi.stubGlobal('sessionStorage', {
  getItem: (name: string) => stored.get(name) ?? null,
  setItem: (name: string, text: string) => stored.set(name, text),
  removeItem: (name: string) => stored.delete(name),
})
vi.stubGlobal('document', { baseURI: 'http://127.0.0.1/tools/' })
const { ApiError, change, get, isFinal, isPruned, setToken, whenTokenIsNeeded } = await import(
  '../../src/page/api/http.ts'
)

afterAll(() => vi.unstubAllGlobals())

let sent: { url: string; method: string; headers: Headers; body: string | null }[]
let answer: () => Response | Promise<Response>
beforeEach(() => {
  sent = []
  answer = () => Response.json({})
  vi.stubGlobal('fetch', async (url: string, request: (typeof sent)[number]) => {
    sent.push({ ...request, url })
    return answer()
  })
})
const silent = () => Promise.reject(new TypeError('Failed to fetch'))
const refusal =
  (status: number, body: unknown = null) =>
  () =>
    body === null ? new Response('<html>', { status }) : Response.json(body, { status })
const failureOf = (request: Promise<unknown>) =>
  request.then(
    () => 'answered',
    ({ status, code, message }: InstanceType<typeof ApiError>) => [status, code, message],
  )

test('an address is below that of the page, and a path that leads out of it is asked for nowhere (HTTP-1)', async () => {
  await get('sessions', { query: { limit: 2, kind: undefined, open: false } })
  expect(sent[0]?.url).toBe('http://127.0.0.1/tools/v1/sessions?limit=2&open=false')
  for (const path of ['../secret', '/secret', 'http://other.test/', '//other.test/'])
    expect(await failureOf(get(path))).toEqual([404, 'not_found', `${path} is no address of the API.`])
  expect(sent).toHaveLength(1)
})

test('a token is kept in the tab and sent as a header alone, until it is taken away (HTTP-2)', async () => {
  await get('nodes')
  setToken('  hush ')
  await get('nodes')
  expect(stored.get('troupe.token')).toBe('hush')
  setToken('')
  await get('nodes')
  expect(sent.map(({ url, headers }) => [url.includes('hush'), headers.get('authorization')])).toEqual([
    [false, null],
    [false, 'Bearer hush'],
    [false, null],
  ])
  expect(stored.size).toBe(0)
})

test('who has no token is told where to get one; who has a wrong one, what the server says of it', async () => {
  const needed: string[] = []
  whenTokenIsNeeded(({ message }) => needed.push(message))
  answer = refusal(401, { code: 'token_unknown', detail: 'nobody has this token.' })
  await failureOf(get('nodes'))
  setToken('wrong')
  await failureOf(get('nodes'))
  answer = refusal(403, { code: 'right_missing', detail: 'it may not.' })
  await failureOf(get('nodes'))
  setToken('')
  whenTokenIsNeeded(() => {})
  expect(needed).toEqual(['This server needs a token: ask whoever runs it for one.', 'nobody has this token.'])
})

test.each([
  [refusal(409, { code: 'version_stale', detail: 'It changed.', title: 'x' }), [409, 'version_stale', 'It changed.']],
  [refusal(409, { title: 'The state does not allow it' }), [409, 'unknown', 'The state does not allow it']],
  [refusal(502), [502, 'unknown', 'The server answered 502.']],
  [silent, [0, 'server_silent', 'The server does not answer.']],
])('a refusal is told in the words of the server, as far as there are some: %#', async (how, told) => {
  answer = how
  expect(await failureOf(get('nodes'))).toEqual(told)
})

test('what is gone or forbidden is not asked for again; what may still come is', () => {
  const is = (status: number, code = 'x') => new ApiError(status, code, 'y')
  expect([400, 403, 404, 409].map((status) => isFinal(is(status)))).toEqual([true, true, true, true])
  expect([0, 401, 429, 500, 503].map((status) => isFinal(is(status)))).toEqual(Array(5).fill(false))
  expect(isFinal(new Error('broken'))).toBe(false)
  expect(['session_not_found', 'worker_not_found', 'ask_not_found'].map((code) => isPruned(is(404, code)))).toEqual([
    true,
    true,
    false,
  ])
})

test('a change that is made again because the server was silent has the key of the first one, for five minutes; any other has its own', async () => {
  const now = vi.spyOn(Date, 'now').mockReturnValue(0)
  const body = { text: 'hello' }
  const make = async (isOnce: boolean, more: object = body) => {
    await change('POST', 'x', { body: more, isOnce }).catch(() => {})
    return sent.at(-1)?.headers.get('idempotency-key')
  }
  answer = silent
  const first = await make(true)
  expect(first).toMatch(/^[0-9a-f]{32}$/)
  now.mockReturnValue(299_999)
  expect(await make(true)).toBe(first)
  expect(await make(true, { text: 'other' })).not.toBe(first)
  expect(await make(false)).not.toBe(first)
  now.mockReturnValue(700_000)
  const later = await make(true)
  expect(later).not.toBe(first)
  for (const ends of [refusal(409, {}), () => new Response('')]) {
    answer = silent
    const before = await make(true)
    answer = ends
    expect(await make(true)).toBe(before)
    expect(await make(true)).not.toBe(before)
  }
  answer = refusal(503, {})
  const again = await make(true)
  expect(await make(true)).toBe(again)
})

test('a change without an answer in it is null, and one without a body sends an empty object', async () => {
  answer = () => new Response(null, { status: 204 })
  expect(await change('DELETE', 'webhooks/x')).toBeNull()
  expect(sent[0]).toMatchObject({ method: 'DELETE', body: '{}' })
})
