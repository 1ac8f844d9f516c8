/** One call of a model: its time limit, its signal, and text that arrives too late (ASK-1 of ask-model.ts). */
import { pino } from 'pino'
import { expect, onTestFinished, test, vi } from 'vitest'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import type { Model, ModelCall, ModelReply } from '../../../../src/core/definition/model.ts'
import { defineTool } from '../../../../src/core/definition/tool/define-tool.ts'
import { TransientError } from '../../../../src/core/errors.ts'
import { policy } from '../../../../src/core/policy.ts'
import type { LiveNote } from '../../../../src/core/ports/live.ts'
import type { TurnStore } from '../../../../src/core/ports/ports.ts'
import { call, type ScriptedReply, say, scriptedModel } from '../../../../src/models/local/scripted-model.ts'
import { askModel } from '../../../../src/runtime/agent/reply/ask-model.ts'
import { Turn } from '../../../../src/runtime/turn/turn.ts'
import { TestTroupe } from '../../../support/test-troupe.ts'
import { awaitEvents } from '../../../support/time/await-session.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'
import { WatchedTimers } from '../../../support/time/watched-timers.ts'
import { assignmentByHand, HeldStore } from '../../support/held-store.ts'

const whole = (reply: ScriptedReply): ModelReply => ({
  model: 'test/deaf',
  finishReason: 'stop',
  usage: { inputTokens: 0, outputTokens: 0 },
  ...reply,
})

/** A model that ignores its signal, which its calls record. A call without a reply never ends. */
function deafModel(replyTo: (number: number) => Promise<ScriptedReply> | undefined = () => undefined) {
  const calls: ModelCall[] = []
  const model: Model = {
    id: 'test/deaf',
    async reply(_request, modelCall) {
      calls.push(modelCall)
      return whole(await (replyTo(calls.length) ?? new Promise<never>(() => {})))
    },
  }
  return { model, calls }
}

test('a model that does not reply in time is aborted and asked again, then the run fails', async () => {
  const { model, calls } = deafModel()
  const agent = defineWorker({ instructions: 'x', model, retries: 1 })
  await using troupe = await TestTroupe.start({ workers: { agent }, policy: { modelCallMs: 20, modelBackoffMs: 1 } })
  expect(await troupe.run('agent')).toMatchObject({
    status: 'failed',
    failure: {
      code: 'deadline_exceeded',
      message: 'model test/deaf gave no whole reply within 20 ms; limits.modelCallMs may be higher.',
      origin: 'model',
      attempt: 2,
    },
  })
  expect(calls.map(({ signal }) => (signal.reason as Error).name)).toEqual(['TimeoutError', 'TimeoutError'])
})

test('the log of the node reports each failed attempt of a model, and the end of the run', async () => {
  const told: Record<string, unknown>[] = []
  const logger = pino({ level: 'warn' }, { write: (line: string) => void told.push(JSON.parse(line)) })
  const { model } = deafModel(async () => {
    throw new TransientError('the provider is busy', { code: 'model_overloaded' })
  })
  const agent = defineWorker({ instructions: 'x', model, retries: 1 })
  await using troupe = await TestTroupe.start({ workers: { agent }, policy: { modelBackoffMs: 1 }, logger })
  const session = await troupe.create('agent')
  await session.result()
  const which = { session: session.id, worker: session.rootId, kind: 'agent', run: 1, error: 'the provider is busy' }
  // A busy machine may add a line about the event loop of the node.
  expect(told.filter((line) => line.session === session.id)).toMatchObject([
    { ...which, msg: 'a model call failed and will be made again', attempt: 1, of: 2, code: 'model_overloaded' },
    { ...which, msg: 'a run failed', attempt: 2, code: 'model_overloaded', origin: 'model' },
  ])
})

test('a model of which nothing arrives is asked again, and one whose reply goes on arriving is not', async () => {
  const { model, calls } = deafModel((number) => (number === 1 ? undefined : sayInPieces()))
  async function sayInPieces(): Promise<ScriptedReply> {
    const end = Date.now() + 120
    await waitUntil('the idle limit has passed twice', () => {
      calls.at(-1)?.onActivity?.()
      return Date.now() >= end
    })
    return say('at last')
  }
  const agent = defineWorker({ instructions: 'x', model, limits: { modelIdleMs: 60 }, retries: 3 })
  await using troupe = await TestTroupe.start({ workers: { agent }, policy: { modelBackoffMs: 1 } })
  const session = await troupe.create('agent')
  expect(await session.result()).toMatchObject({ status: 'completed', value: { text: 'at last' } })
  const history = await troupe.history(session.rootId)
  expect(history.find(({ type }) => type === 'attemptFailed')).toMatchObject({
    failure: { code: 'deadline_exceeded', message: expect.stringContaining('sent nothing for 60 ms') },
  })
})

test('the signal of an answered call does not fire later', async () => {
  const { model, calls } = deafModel((number) => (number === 1 ? Promise.resolve(call('look')) : undefined))
  const tool = defineTool({ name: 'look', description: 'Looks.', effect: 'pure', run: () => 1 })
  const agent = defineWorker({ instructions: 'x', model, tools: [tool], retries: 0 })
  await using troupe = await TestTroupe.start({ workers: { agent }, policy: { modelCallMs: 50 } })
  expect(await troupe.run('agent')).toMatchObject({ status: 'failed', failure: { code: 'deadline_exceeded' } })
  expect(calls.map(({ signal }) => signal.aborted)).toEqual([false, true])
})

test('the signal of a model fires when its run is cancelled, and the node does not wait for the model [1.22]', async () => {
  const { model, calls } = deafModel()
  await using troupe = await TestTroupe.start({ workers: { agent: defineWorker({ instructions: 'x', model }) } })
  const session = await troupe.create('agent')
  await waitUntil('the model is asked', () => calls.length === 1)
  await session.cancel()
  expect(await session.result()).toMatchObject({ status: 'cancelled' })
  await waitUntil('its signal has fired', () => calls[0]?.signal.aborted)
  expect(calls.map(({ signal }) => (signal.reason as Error).name)).toEqual(['CancelledError'])
})

test('text that a model sends after its time is not published', async () => {
  const heard: unknown[] = []
  const { model, calls } = deafModel((number) => (number === 1 ? undefined : sayAnew()))
  async function sayAnew(): Promise<ScriptedReply> {
    calls[0]?.onDelta({ type: 'text', text: 'too late' })
    calls.at(-1)?.onDelta({ type: 'text', text: 'in time' })
    await waitUntil('what came later is heard', () => heard.includes('in time'))
    return say('in time')
  }
  const agent = defineWorker({ instructions: 'x', model, retries: 20 })
  await using troupe = await TestTroupe.connect()
  const session = await troupe.create('agent')
  const following = (async () => {
    for await (const { type, details } of awaitEvents(session))
      if (type === 'text.delta') heard.push((details as { text: string }).text)
  })()
  await troupe.startNode({ agent }, { policy: { modelCallMs: 200, modelBackoffMs: 1, deltaEveryMs } })
  expect(await session.result()).toMatchObject({ status: 'completed' })
  await following
  expect(new Set(heard)).toEqual(new Set(['in time']))
})

test('a reply that is too large for an entry is asked for again', async () => {
  const model = scriptedModel('test/m', [say('é'.repeat(policy.messageBytesMax / 2)), say('done')])
  const agent = defineWorker({ instructions: 'x', model })
  await using troupe = await TestTroupe.start({ workers: { agent }, policy: { modelBackoffMs: 1 } })
  const session = await troupe.create('agent')
  expect(await session.result()).toMatchObject({ status: 'completed', value: { text: 'done' } })
  const history = await troupe.history(session.rootId)
  expect(history.find(({ type }) => type === 'attemptFailed')).toMatchObject({
    failure: {
      code: 'model_garbled',
      message: expect.stringMatching(
        /^model test\/m gave a reply that cannot be used: it has 10486\d\d bytes; a reply may have 1048576\. Let it write less: set maxOutputTokens in the settings of the agent\.$/,
      ),
    },
  })
})

test('a run whose model has replied is not reported as waiting for the model while its tools run', async () => {
  let renewed = 0
  const counting = (turns: TurnStore): TurnStore => ({
    partition: turns.partition,
    claim: (next) => turns.claim(next),
    commit: (request) => turns.commit(request),
    readHistory: (workerId, from) => turns.readHistory(workerId, from),
    cancelReason: (worker) => turns.cancelReason(worker),
    readInputs: (workerId, positions) => turns.readInputs(workerId, positions),
    enter: (worker, gates) => turns.enter(worker, gates),
    async renew(renewing) {
      const answer = await turns.renew(renewing)
      renewed++
      return answer
    },
  })
  const seen: unknown[] = []
  const look = defineTool({
    name: 'look',
    description: 'Looks.',
    effect: 'idempotent',
    async run(_, { workerId }) {
      const before = renewed
      await waitUntil('its lease was renewed', () => renewed > before + 1)
      seen.push((await troupe.client.workers.get(workerId).report()).run)
      return 'seen'
    },
  })
  const model = scriptedModel('test/m', [call('look'), say('done')])
  const agent = defineWorker({ instructions: 'x', model, tools: [look] })
  await using troupe = await TestTroupe.connect()
  await troupe.startNode({ agent }, { aroundTurns: counting, policy: { renewEveryMs: 20, busyAfterMs: 20 } })
  expect(await troupe.run('agent')).toMatchObject({ status: 'completed' })
  expect(seen).toEqual(['ExecutingTools'])
})

const deltaEveryMs = 5

/** The events that listeners get of a call of this model. */
async function toldOf(model: Model, heard: unknown[] = [], crashes = 0) {
  const host = new HeldStore().host()
  const live = {
    isFollowed: () => true,
    publish: (_session: string, _worker: string, notes: readonly LiveNote[]) => {
      heard.push(...notes.filter(([type]) => type.endsWith('.delta')))
    },
  }
  const turn = new Turn(assignmentByHand({ crashes }), { ...host, live, policy: { ...policy, deltaEveryMs: 5 } })
  await askModel(turn, model, { instructions: 'x', messages: [], tools: [], idempotencyKey: 'k' }, 7)
  return heard
}

test('streamed text is published in a few pieces, by its type, and to its end', async () => {
  const heard: unknown[] = []
  const reply = async (_request: unknown, asked: ModelCall) => {
    for (const text of ['Let ', 'me ', '', 'see']) asked.onDelta({ type: 'reasoning', text })
    asked.onDelta({ type: 'text', text: 'Fo' })
    await waitUntil('the beginning is told', () => heard.length > 0)
    asked.onDelta({ type: 'text', text: 'ur.' })
    return whole(say('Four.'))
  }
  expect(await toldOf({ id: 'test/m', reply }, heard)).toEqual([
    ['reasoning.delta', { text: 'Let me see', iteration: 7, offset: 0, request: '1.0.1' }],
    ['text.delta', { text: 'Fo', iteration: 7, offset: 0, request: '1.0.1' }],
    ['text.delta', { text: 'ur.', iteration: 7, offset: 2, request: '1.0.1' }],
  ])
})

test.each([
  [0, '1.0.1'],
  [1, '1.1.1'],
])(
  'a model call after %i crashes has the name %s, also where a start that is not counted gave its epoch back',
  async (crashes, request) => {
    const heard: unknown[] = []
    const reply = async (_request: unknown, asked: ModelCall) => {
      asked.onDelta({ type: 'text', text: 'Fo' })
      await waitUntil('the beginning is told', () => heard.length > 0)
      return whole(say('Fo'))
    }
    expect(await toldOf({ id: 'test/m', reply }, heard, crashes)).toMatchObject([['text.delta', { request }]])
  },
)

test('a reply that is complete before any part was published is never published in pieces', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const reply = async (_request: unknown, asked: ModelCall) => {
    asked.onDelta({ type: 'text', text: 'Four.' })
    return whole(say('Four.'))
  }
  using timers = new WatchedTimers(deltaEveryMs)
  expect(await toldOf({ id: 'test/m', reply })).toEqual([])
  expect(timers.counts).toEqual({ begun: 1, left: 0 })
})
