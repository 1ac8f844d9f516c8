/** Every request that changes something is repeated under its Idempotency-Key at one server: while the first one goes on, and after it. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { routes } from '../../src/api/routes.ts'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import type { Model } from '../../src/core/definition/model.ts'
import { defineTool } from '../../src/core/definition/tool/define-tool.ts'
import { chat } from '../../src/core/history/chat/message-factories.ts'
import { partitionKeys } from '../../src/store/keys.ts'
import { waitUntil } from '../support/time/wait-until.ts'
import { TestApi } from './support/test-api.ts'

/** A model that asks to pay if the last message says so, and otherwise answers. */
const model: Model = {
  id: 'test/m',
  async reply({ messages }, call) {
    call.onFirstByte()
    const head = { model: 'test/m', usage: { inputTokens: 1, outputTokens: 1 } }
    if (!JSON.stringify(messages.at(-1)).includes('pay'))
      return { ...head, finishReason: 'stop', content: [{ type: 'text', text: 'answered' }] }
    const toolCall = { type: 'tool-call', toolCallId: 'c1', toolName: 'pay', input: {} } as const
    return { ...head, finishReason: 'tool-calls', content: [toolCall] }
  },
}
const pay = defineTool({ name: 'pay', description: 'Pays.', effect: 'pure', approval: 'always', run: () => 'done' })
const kinds = {
  agent: defineWorker({ instructions: 'x', model, tools: [pay] }),
  asker: defineWorker({ receive: (message, self) => void (message.kind === 'input' && self.ask('?')) }),
  failing: defineWorker({
    receive() {
      throw new Error('broken')
    },
  }),
}

let api: TestApi
beforeAll(async () => {
  api = await TestApi.start(kinds, { rate: 1_000_000, webhooks: { allowPrivateAddresses: true } })
})
afterAll(() => api[Symbol.asyncDispose]())

interface Ids {
  readonly sessionId: string
  readonly workerId: string
}

async function create(kind: keyof typeof kinds, input: string, more: object = {}): Promise<Ids> {
  return (await api.post('/v1/sessions', { kind, input, ...more })).body as Ids
}

const sessionOf = ({ sessionId }: Ids) => api.troupe.client.sessions.get(sessionId)

/** A conversation of some answers, at rest. */
async function talk(runs = 3): Promise<Ids> {
  const ids = await create('agent', 'text 1', { keepOpen: true })
  const session = sessionOf(ids)
  for (let run = 1; run <= runs; run++) {
    if (run > 1) await session.root.send(`text ${run}`)
    await session.result({ run })
  }
  await session.idle()
  return ids
}

async function asked(kind: 'asker' | 'agent', input: string) {
  const { sessionId } = await create(kind, input)
  return waitUntil('somebody is asked', async () => {
    const { asks } = (await api.get(`/v1/asks?session=${sessionId}`)).body as { asks: { id: string }[] }
    return asks[0]?.id
  })
}

async function approval(): Promise<{ readonly id: string; readonly hash: string }> {
  return (await api.get(`/v1/approvals/${await asked('agent', 'pay')}`)).body
}

async function letter(): Promise<string> {
  const { workerId } = await talk()
  const { redis, tag } = api.troupe
  return (await redis.xadd(partitionKeys(tag).dead, '*', 'worker', workerId, 'mail', 'i\t-\t"again"')) as string
}

/** A node that was seen last 20 s ago. */
async function silentNode(): Promise<string> {
  const { redis, tag } = api.troupe
  const { nodes } = partitionKeys(tag)
  const [line = ''] = await redis.hvals(nodes)
  await redis.hset(nodes, 'n-silent', line.replace(/^\d+/, String(Date.now() - 20_000)))
  return 'n-silent'
}

const decision = ({ id, hash }: { readonly id: string; readonly hash: string }) => ({ id, hash, decision: 'approve' })

/** What a test asks for: the address, the body, and the worker whose history shows the request, once that worker is at rest. */
type Scene = readonly [path: string, body?: object | undefined, ids?: Ids]

const ofSession = (verb: string, body?: object) => async (): Promise<Scene> => {
  const { sessionId } = await create('asker', 'go')
  return [`/v1/sessions/${sessionId}/${verb}`, body]
}
const ofTalk = (verb: string, body?: object, before?: (ids: Ids) => Promise<unknown>) => async (): Promise<Scene> => {
  const ids = await talk()
  await before?.(ids)
  return [`/v1/workers/${ids.workerId}/${verb}`, body, ids]
}

/** An endpoint at an address where nothing listens. */
async function webhook(): Promise<string> {
  return (await api.post('/v1/webhooks', { url: 'http://127.0.0.1:9/hook' })).body.id
}
const ofWebhook = (verb: string) => async (): Promise<Scene> => [`/v1/webhooks/${await webhook()}${verb}`]

const scenes: Readonly<Record<string, () => Promise<Scene>>> = {
  createSession: async () => ['/v1/sessions', { kind: 'asker', input: 1 }],
  cancelSession: ofSession('cancel', { reason: 'enough' }),
  pauseSession: ofSession('pause'),
  resumeSession: ofSession('resume'),
  retrySession: async () => {
    const { sessionId } = await create('failing', 'go')
    await api.get(`/v1/sessions/${sessionId}/result?wait=30`)
    return [`/v1/sessions/${sessionId}/retry`]
  },
  forkSession: ofSession('fork'),
  closeSession: async () => [`/v1/sessions/${(await talk()).sessionId}/close`],
  sendToSession: async () => {
    const ids = await talk()
    return [`/v1/sessions/${ids.sessionId}/messages`, { input: 'three' }, ids]
  },
  limitSession: ofSession('limits', { tokens: 7 }),
  setApproval: ofSession('approval', { policy: 'auto' }),
  sendToWorker: ofTalk('messages', { input: 'three' }),
  cancelWorker: ofTalk('cancel', { run: true }),
  compactWorker: ofTalk('compact', { keepLast: 1 }),
  expandWorker: ofTalk('expand', undefined, (ids) => sessionOf(ids).root.compact({ keepLast: 1 })),
  undoWorker: ofTalk('undo'),
  redoWorker: ofTalk('redo', undefined, (ids) => sessionOf(ids).root.undo()),
  runWorker: ofTalk('run', undefined, (ids) => sessionOf(ids).root.push(chat.user('Say it again.'))),
  configureWorker: ofTalk('configure', { settings: { temperature: 1 } }),
  forkWorker: ofTalk('fork'),
  answerAsk: async () => [`/v1/asks/${await asked('asker', 'go')}`, { value: 'yes' }],
  decideApproval: async () => {
    const { id, ...choice } = decision(await approval())
    return [`/v1/approvals/${id}`, choice]
  },
  decideApprovals: async () => [
    '/v1/approvals/decide',
    { decisions: [decision(await approval()), decision(await approval())] },
  ],
  redriveDeadLetter: async () => [`/v1/dead/${await letter()}/redrive`],
  dismissDeadLetter: async () => [`/v1/dead/${await letter()}/dismiss`],
  addWebhook: async () => ['/v1/webhooks', { url: 'http://127.0.0.1:9/hook' }],
  removeWebhook: ofWebhook(''),
  rotateWebhook: ofWebhook('/rotate'),
  enableWebhook: ofWebhook('/enable'),
  disableWebhook: ofWebhook('/disable'),
  testWebhook: ofWebhook('/test'),
  redeliver: async () => {
    const { id } = (await api.post(`/v1/webhooks/${await webhook()}/test`)).body
    return [`/v1/webhooks/deliveries/${id}/redeliver`]
  },
  releaseNode: async () => [`/v1/nodes/${await silentNode()}/release`],
  pauseAll: async () => ['/v1/pause'],
  resumeAll: async () => ['/v1/resume'],
}

const changing = routes.filter(({ method, changes }) => changes ?? method !== 'GET')

/** The lists to which a second request would add something. */
async function tracesOf(ids: Ids | undefined): Promise<readonly unknown[]> {
  const byState = (await api.get('/v1/counts')).body.sessions as Record<string, number>
  const sessions = Object.values(byState).reduce((sum, count) => sum + count)
  const { webhooks } = (await api.get('/v1/webhooks')).body
  const { deliveries } = (await api.get('/v1/webhooks/deliveries')).body
  const all = [sessions, webhooks.length, deliveries.length]
  if (ids === undefined) return all
  await sessionOf(ids).idle()
  return [...all, (await api.get(`/v1/workers/${ids.workerId}/history?limit=1`)).body.length]
}

describe.each(changing.map(({ id, method }) => [id, method] as const))('%s', (id, method) => {
  test.skipIf(scenes[id] === undefined)(
    'a repeated request gets the first answer again, and does nothing more',
    async () => {
      const [path, body, ids] = await (scenes[id] as () => Promise<Scene>)()
      const send = () => api.call(method, path, body, { 'idempotency-key': `repeat-${id}` })
      const [first, beside] = await Promise.all([send(), send()])
      expect(first?.status, `${id}: ${JSON.stringify(first?.body)}`).toBeLessThan(300)
      const before = await tracesOf(ids)
      const after = await send()
      for (const { status, body: answer } of [beside, after] as (typeof after)[])
        expect({ status, answer }).toEqual({ status: first?.status, answer: first?.body })
      expect(await tracesOf(ids)).toEqual(before)
    },
  )
})

test('every route that changes something has its scene here', () => {
  expect(changing.map((one) => one.id).filter((id) => scenes[id] === undefined)).toEqual([])
  expect(Object.keys(scenes).filter((id) => !changing.some((one) => one.id === id))).toEqual([])
})
