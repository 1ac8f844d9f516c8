/** Sessions over HTTP: created, waited for, listed, shown, followed, cancelled. */
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { connectInternal } from '../../src/client/client.ts'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { partitionOfKey } from '../../src/core/ids.ts'
import { TestApi } from './support/test-api.ts'

const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })
/** Waits for a timer that is due in an hour. */
const waiter = defineWorker({
  receive(message, self) {
    if (message.kind === 'input') self.after(3_600_000, 'late')
  },
})

const failing = defineWorker({
  retries: 0,
  receive() {
    throw new Error('no luck')
  },
})

let api: TestApi
beforeAll(async () => {
  api = await TestApi.start({ echo, failing, waiter })
})
afterAll(() => api[Symbol.asyncDispose]())

const create = (body: object, headers?: Record<string, string>) => api.post('/v1/sessions', body, headers)

test('a session that is created with Prefer: wait answers 200 with its result', async () => {
  const { status, headers, body } = await create({ kind: 'echo', input: { a: 1 } }, { prefer: 'wait=30' })
  expect({ status, result: body.result }).toEqual({
    status: 200,
    result: { status: 'completed', run: 1, value: { a: 1 } },
  })
  expect(headers.get('location')).toBe(`/v1/sessions/${body.sessionId}`)
})

test('a session that does not end in time answers 202, and shows why it does not go on', async () => {
  const { status, body } = await create({ kind: 'waiter', input: 1 }, { prefer: 'wait=0' })
  expect({ status, result: body.result }).toEqual({ status: 202, result: undefined })
  const shown = await api.get(`/v1/sessions/${body.sessionId}`)
  expect(shown.body.session).toMatchObject({ id: body.sessionId, state: 'active' })
  expect(await api.get(`/v1/sessions/${body.sessionId}/result`)).toMatchObject({
    status: 202,
    body: { status: 'running' },
  })
  expect(await api.post(`/v1/sessions/${body.sessionId}/cancel`, { reason: 'enough' })).toMatchObject({
    status: 202,
    body: { cancelled: true },
  })
  expect(await api.get(`/v1/sessions/${body.sessionId}/result?wait=30`)).toMatchObject({
    status: 200,
    body: { status: 'cancelled' },
  })
})

test('a body that is no UTF-8 is refused, and not stored with other characters in it', async () => {
  const body = Buffer.concat([Buffer.from('{"kind":"echo","input":"'), Buffer.from([0xff, 0xe9]), Buffer.from('"}')])
  const headers = { 'content-type': 'application/json' }
  const reply = await fetch(api.url('/v1/sessions'), { method: 'POST', headers, body })
  expect({ status: reply.status, problem: await reply.json() }).toMatchObject({
    status: 400,
    problem: { code: 'request_malformed', detail: 'the body is not UTF-8: write the JSON in UTF-8.' },
  })
  expect((await create({ kind: 'echo', input: 'é😀' }, { prefer: 'wait=30' })).body.result.value).toBe('é😀')
})

test('a number that JavaScript cannot hold keeps its digits, as a text (JSON-BODY-3)', async () => {
  const send = async (input: string) => {
    const headers = { 'content-type': 'application/json', prefer: 'wait=30' }
    const body = `{"kind":"echo","input":${input}}`
    const reply = await fetch(api.url('/v1/sessions'), { method: 'POST', headers, body })
    return ((await reply.json()) as { readonly result: { readonly value: unknown } }).result.value
  }
  expect(await send('{"id":12345678901234567890,"of":[9007199254740993,9007199254740991]}')).toEqual({
    id: '12345678901234567890',
    of: ['9007199254740993', 9007199254740991],
  })
})

test('a session that failed says where it would go on', async () => {
  const { body } = await create({ kind: 'failing', input: 1 }, { prefer: 'wait=30' })
  const ask = (id: string) => api.get(`/v1/sessions/${id}/retry`)
  expect((await ask(body.sessionId)).body).toEqual({ kind: 'step', run: 1, step: 'message inbox-0 (input)' })
  const { body: other } = await create({ kind: 'echo', input: 1 }, { prefer: 'wait=30' })
  expect((await ask(other.sessionId)).body).toMatchObject({
    kind: 'impossible',
    why: expect.stringContaining('completed'),
  })
})

test('a session that did not end in time is waited for once more under its key', async () => {
  const repeat = (prefer: string) => create({ kind: 'waiter', input: 2 }, { prefer, 'idempotency-key': 'patient' })
  const first = await repeat('wait=0')
  await api.post(`/v1/sessions/${first.body.sessionId}/cancel`, {})
  expect(await repeat('wait=30')).toMatchObject({
    status: 200,
    body: { ...first.body, result: { status: 'cancelled' } },
  })
})

test('the same idempotency key gives the same session', async () => {
  const key = { 'idempotency-key': 'order-7' }
  const [first, second] = [await create({ kind: 'echo' }, key), await create({ kind: 'echo' }, key)]
  expect(second.body.sessionId).toBe(first.body.sessionId)
})

test('a key of a request is no key of the library, and is refused for the same request about another session', async () => {
  const ofLibrary = await api.troupe.create('echo', 1, { idempotencyKey: 'local/one' })
  const key = { 'idempotency-key': 'one' }
  const [one, two] = [await create({ kind: 'waiter' }, key), await create({ kind: 'waiter' })]
  expect(one.body.sessionId).not.toBe(ofLibrary.id)
  const pause = (id: string) => api.post(`/v1/sessions/${id}/pause`, {}, { 'idempotency-key': 'pause' })
  expect([await pause(one.body.sessionId), await pause(two.body.sessionId)]).toMatchObject([
    { status: 200 },
    { status: 409, body: { code: 'key_reused' } },
  ])
})

test('a session in a partition that was added since the server started is found, and changed', async () => {
  await using own = await TestApi.start({ echo })
  const { redisUrl, namespace } = own.troupe
  await own.post('/v1/sessions', { kind: 'nobody' })
  await using other = await connectInternal({ redisUrl, namespace })
  await other.partitions.raise(8)
  const key = Array.from({ length: 99 }, (_, number) => `key ${number}`).find((one) => partitionOfKey(one, 8) === 5)
  const { id } = await other.sessions.create({ kind: 'nobody', input: null, idempotencyKey: key })
  expect(await own.post(`/v1/sessions/${id}/cancel`, {})).toMatchObject({ status: 202, body: { cancelled: true } })
  expect((await own.get(`/v1/sessions/${id}`)).body.session).toMatchObject({ id })
})

test('a list goes on behind its cursor', async () => {
  for (let number = 0; number < 3; number++) await create({ kind: 'echo', input: number, name: `n${number}` })
  const first = await api.get('/v1/sessions?limit=2')
  const second = await api.get(`/v1/sessions?limit=2&cursor=${first.body.nextCursor}`)
  const ids = [...first.body.sessions, ...second.body.sessions].map(({ id }: { id: string }) => id)
  expect(new Set(ids).size).toBe(4)
  expect(first.body.sessions[0].name).toBe('n2')
})

test('a stream gives each stored event once, and ends with the session', async () => {
  const { body } = await create({ kind: 'echo', input: 'x' })
  const text = (await api.get(`/v1/sessions/${body.sessionId}/events?after=0-0&transient=false`)).body as string
  const types = [...text.matchAll(/^event: (.*)$/gm)].map(([, type]) => type)
  expect(types).toEqual(['session.created', 'run.started', 'run.completed', 'session.completed'])
  const [, second = ''] = /^id: (.*)\nevent: /m.exec(text) ?? []
  const rest = (await api.get(`/v1/sessions/${body.sessionId}/events`, { 'last-event-id': second })).body as string
  expect([...rest.matchAll(/^event: (.*)$/gm)].map(([, type]) => type)).toEqual(types.slice(1))
})

test('an input that names a file is refused, and the file is not read (ATTACHED-2)', async () => {
  const input = [{ type: 'file', file: '/etc/passwd' }]
  const detail = expect.stringContaining('content[0] names a file. No input has a file read')
  for (const named of [input, { content: input }])
    expect(await create({ kind: 'echo', input: named })).toMatchObject({
      status: 400,
      body: { code: 'input_invalid', detail },
    })
})

test.each([
  ['notify', { notify: 'https://example.com' }, 'body.notify: expected { "url": "https://…" } or { "queue": "…"'],
  [
    'permissions.send',
    { permissions: { send: 'all' } },
    'body.permissions.send: expected none, family, session or a list',
  ],
])('a value of %s that has none of its forms is refused with those that there are', async (_, wrong, words) => {
  const detail = expect.stringContaining(words)
  expect(await create({ kind: 'echo', ...wrong })).toMatchObject({
    status: 400,
    body: { code: 'input_invalid', detail },
  })
})

test('GET /metrics answers with how the namespace stands, and GET /v1/usage with rows of the wanted parts', async () => {
  const page = await fetch(api.url('/metrics'))
  expect(page.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8')
  expect(await page.text()).toContain('\ntroupe_up 1\n')
  expect(await api.get('/v1/usage?by=kind,day&days=7')).toMatchObject({ status: 200, body: { usage: [] } })
  expect(await api.get('/v1/usage?by=colour')).toMatchObject({ status: 400 })
})

test('the result of an ended session is returned, however little time there is to wait for it', async () => {
  const { body } = await create({ kind: 'echo', input: 1 }, { prefer: 'wait=30' })
  using _ = vi.spyOn(AbortSignal, 'timeout').mockImplementation(() => AbortSignal.abort())
  for (const query of ['', '?wait=0', '?wait=5'])
    expect({ query, status: (await api.get(`/v1/sessions/${body.sessionId}/result${query}`)).status }).toEqual({
      query,
      status: 200,
    })
})

test('health, workers and one worker can be read, and then followed without a gap [1.32]', async () => {
  const { body } = await create({ kind: 'waiter', input: 1 })
  expect(await api.get('/healthz')).toMatchObject({ status: 200, body: { status: 'alive' } })
  const { workers } = (await api.get(`/v1/workers?session=${body.sessionId}`)).body
  expect(workers).toMatchObject([{ id: body.workerId, kind: 'waiter' }])
  const other = body.workerId.replace(/^./, (first: string) => (first === '0' ? '1' : '0'))
  const seen = [body.workerId, other, 'no-id'].map(async (id) => (await api.get(`/v1/workers/${id}`)).status)
  expect(await Promise.all(seen)).toEqual([200, 404, 400])
  const followed = await fetch(api.url(`/v1/sessions/${body.sessionId}/events?tail=10`))
  let text = ''
  // The session goes on, and so does the stream: the test waits only for its past.
  for await (const piece of followed.body ?? []) {
    text += new TextDecoder().decode(piece)
    if (text.includes('session.created')) break
  }
  expect(text).toContain('session.created')
})
