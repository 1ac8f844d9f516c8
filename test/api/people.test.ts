/** What waits for people, over HTTP: asks, approvals with what was seen, and requests that are repeated under their keys. */
import { afterAll, beforeAll, expect, test } from 'vitest'
import { z } from 'zod'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { defineTool } from '../../src/core/definition/tool/define-tool.ts'
import { call, say, together } from '../../src/models/local/scripted-model.ts'
import { recordedModel } from '../support/provider/recorded-model.ts'
import { waitUntil } from '../support/time/wait-until.ts'
import { TestApi } from './support/test-api.ts'

const paid: number[] = []
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  effect: 'once',
  input: z.object({ cents: z.int() }),
  run: ({ cents }) => void paid.push(cents),
})
const payer = () =>
  defineWorker({
    instructions: 'x',
    model: recordedModel('test/m', [
      together(call('pay', { cents: 1 }, 'c1'), call('pay', { cents: 2 }, 'c2')),
      say('done'),
    ]),
    tools: [pay],
  })
const asker = defineWorker({
  receive(message, self) {
    if (message.kind === 'input') self.ask('Ship it?', { options: ['yes', 'no'] })
    else self.reply(message.value)
  },
})

let api: TestApi
beforeAll(async () => {
  api = await TestApi.start({
    payer: payer(),
    other: payer(),
    paged: payer(),
    asker,
    echo: defineWorker({ receive: (m, self) => self.reply(m.value) }),
  })
})
afterAll(() => api[Symbol.asyncDispose]())

const create = async (kind: string): Promise<string> =>
  (await api.post('/v1/sessions', { kind, input: 'go' })).body.sessionId as string
const openOf = (path: string, session: string, count: number) =>
  waitUntil(`${count} in ${path}`, async () => {
    const { body } = await api.get(`/v1/${path}?session=${session}`)
    return body[path].length === count && body[path]
  })

test('an approval must carry the hash that its reader saw; another hash, or none, decides nothing', async () => {
  const session = await create('payer')
  const [one, two] = (await openOf('approvals', session, 2)) as { id: string; hash: string; arguments: object }[]
  const path = `/v1/approvals/${one?.id}`
  for (const decided of [
    { decision: 'approve' },
    ...['approve', 'deny'].map((decision) => ({ decision, hash: two?.hash })),
  ])
    expect(await api.post(path, decided)).toMatchObject({
      status: 409,
      body: { code: 'arguments_changed' },
    })
  expect((await api.get(path)).body.state).toBe('open')
  expect(await api.post(`/v1/asks/${one?.id}`, { value: 'approve' })).toMatchObject({
    status: 409,
    body: { code: 'transition_illegal' },
  })
  const decisions = [
    { id: one?.id, decision: 'approve', hash: one?.hash, reason: 'fine' },
    { id: two?.id, decision: 'deny' },
    { id: two?.id, decision: 'deny' },
  ]
  const { body } = await api.post('/v1/approvals/decide', { decisions })
  expect(
    body.decided.map((each: { decision?: string; problem?: { code: string } }) => each.decision ?? each.problem?.code),
  ).toEqual(['approve', 'deny', 'ask_answered'])
  expect((await api.get(path)).body.decided).toMatchObject({ decision: 'approve', by: 'local', reason: 'fine' })
  expect(await api.get(`/v1/sessions/${session}/result?wait=30`)).toMatchObject({
    status: 200,
    body: { status: 'completed' },
  })
})

test('a page that is full names the next one, and the last page names none', async () => {
  const session = await create('paged')
  const approvals = (await openOf('approvals', session, 2)) as { id: string }[]
  const ids = approvals.map(({ id }) => id)
  const page = async (path: string, query: string) => {
    const { body } = await api.get(`/v1/${path}?session=${session}&${query}`)
    return [body[path].map(({ id }: { id: string }) => id), body.nextCursor]
  }
  for (const path of ['approvals', 'asks']) {
    expect(await page(path, 'limit=2')).toEqual([ids, ids[1]])
    expect(await page(path, `limit=1&cursor=${ids[0]}`)).toEqual([[ids[1]], ids[1]])
    expect(await page(path, `limit=1&cursor=${ids[1]}`)).toEqual([[], null])
    expect(await page(path, 'limit=3')).toEqual([ids, null])
  }
})

test('an ask is answered once; the same answer under its key is the same answer', async () => {
  const session = await create('asker')
  const [ask] = (await openOf('asks', session, 1)) as { id: string }[]
  const report = (await api.get(`/v1/sessions/${session}`)).body
  expect(report.session.holdups[0]).toMatchObject({
    reason: 'question',
    command: expect.stringContaining('troupe ask answer'),
  })
  const path = `/v1/asks/${ask?.id}`
  const detail = 'path.id: must be the id of an ask.'
  expect(await api.post('/v1/asks/x', { value: 'yes' })).toMatchObject({ status: 400, body: { detail } })
  expect(await api.post(path, { value: 'perhaps' })).toMatchObject({ status: 400, body: { code: 'input_invalid' } })
  const key = { 'idempotency-key': 'yes-1' }
  const first = await api.post(path, { value: 'yes' }, key)
  expect(first.body).toMatchObject({ sessionId: session, again: false })
  expect((await api.post(path, { value: 'yes' }, key)).body).toEqual(first.body)
  expect(await api.post(path, { value: 'no' }, key)).toMatchObject({ status: 409, body: { code: 'key_reused' } })
  expect(await api.post(path, { value: 'no' })).toMatchObject({ status: 409, body: { code: 'ask_answered' } })
})

test('a request that is repeated under its key happens once, even if Redis keeps nothing of that key', async () => {
  const session = await create('asker')
  await openOf('asks', session, 1)
  const key = { 'idempotency-key': 'fork-1' }
  const [first, second] = await Promise.all([1, 2].map(() => api.post(`/v1/sessions/${session}/fork`, {}, key)))
  expect(first?.status).toBe(201)
  expect(second?.body).toEqual(first?.body)
})

test('a worker has a mailbox, a history from either end, and a conversation as its model sees it', async () => {
  const session = await create('other')
  const [approval] = (await openOf('approvals', session, 2)) as { workerId: string }[]
  const path = `/v1/workers/${approval?.workerId}`
  const all = (await api.get(`${path}/history`)).body
  expect(all.entries.length).toBe(all.length)
  const last = (await api.get(`${path}/history?before=${all.length}&limit=1`)).body.entries
  expect(last).toEqual(all.entries.slice(-1))
  expect((await api.get(`${path}/history?after=${all.length - 2}`)).body.entries).toEqual(last)
  expect((await api.get(`${path}/history?before=0`)).body.entries).toEqual([])
  await api.post(`${path}/messages`, { input: 'and this' })
  expect((await api.get(`${path}/mailbox`)).body.mails[0]).toMatchObject({
    lane: 'inbox',
    message: { value: 'and this' },
  })
  const known = (await api.get(`${path}/context`)).body
  expect(known.messages[0]).toMatchObject({ type: 'user' })
  expect(known.openCalls.length).toBe(2)
  expect(known.prompt.length).toBeGreaterThan(0)
  expect((await api.get(`${path}/tokens`)).status).toBe(200)
})

test('people pause sessions, change limits and look at the views of a session', async () => {
  const session = await create('asker')
  await openOf('asks', session, 1)
  const path = `/v1/sessions/${session}`
  expect((await api.post(`${path}/pause`, { reason: 'wait' })).body).toEqual({ paused: true })
  expect((await api.get(path)).body.session.paused).toMatchObject({ why: 'wait', by: 'local' })
  expect((await api.post(`${path}/resume`)).body).toEqual({ paused: false })
  expect((await api.call('PATCH', `${path}/limits`, { tokens: 7 })).body).toMatchObject({ tokens: 7 })
  expect((await api.call('PATCH', `${path}/limits`, { mailbox: 7 })).status).toBe(400)
  expect((await api.get(`${path}/tree`)).body.tree[0]).toMatchObject({ kind: 'asker', children: [] })
  const { bars } = (await api.get(`${path}/timeline`)).body
  expect(bars.at(-1)).toMatchObject({ kind: 'person', to: null, label: 'Ship it?' })
  const lines = ((await api.get(`${path}/export`)).body as string)
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).type)
  expect(lines.slice(0, 2)).toEqual(['session', 'worker'])
  expect(lines).toContain('history.entry')
})

test('the namespace has nodes, kinds, findings in words, and an audit that runs in the background', async () => {
  expect((await api.get('/v1/nodes')).body.nodes.length).toBe(1)
  expect((await api.get('/v1/kinds')).body.kinds.map(({ kind }: { kind: string }) => kind)).toContain('payer')
  const { findings } = (await api.get('/v1/health')).body
  expect(findings.find(({ code }: { code: string }) => code === 'nodes').what).toMatch(/^1 node with/)
  expect((await api.get('/v1/counts')).body.sessions.active).toBeGreaterThanOrEqual(0)
  expect((await api.post('/v1/audit')).status).toBe(202)
  const audit = await waitUntil('the audit ends', async () => {
    const { body } = await api.get('/v1/audit')
    return body.state !== 'running' && body
  })
  expect(audit).toMatchObject({ state: 'done', report: { findings: [] } })
  expect((await api.get('/v1/dead')).body).toEqual({ letters: [], away: [] })
  expect((await api.post('/v1/pause', { reason: 'all' })).body).toEqual({ paused: true })
  expect((await api.post('/v1/resume')).body).toEqual({ paused: false })
})
