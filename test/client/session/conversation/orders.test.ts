/** What somebody outside asks of an agent itself is done once, in a turn between the messages, and the answer says what came of it. */
import { describe, expect, test, vi } from 'vitest'
import { compact } from '../../../../src/client/session/conversation/orders.ts'
import type { TroupeNode } from '../../../../src/compose.ts'
import type { CompactionSettings } from '../../../../src/core/definition/agent/compaction-settings.ts'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import type { ModelRequest } from '../../../../src/core/definition/model.ts'
import { defineTool } from '../../../../src/core/definition/tool/define-tool.ts'
import { TerminalError } from '../../../../src/core/errors.ts'
import { chat } from '../../../../src/core/history/chat/message-factories.ts'
import type { TurnStore } from '../../../../src/core/ports/ports.ts'
import { call, type ScriptedReply, say } from '../../../../src/models/local/scripted-model.ts'
import { InspectStore } from '../../../../src/store/audit/inspect-store.ts'
import { partitionKeys, workerKeys } from '../../../../src/store/keys.ts'
import { changedStore } from '../../../support/changed-store.ts'
import { recordedModel } from '../../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../../support/test-troupe.ts'
import { awaitIdle, awaitResult } from '../../../support/time/await-session.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'

const isHandoff = ({ instructions }: ModelRequest) => instructions.startsWith('You write the handoff')
const sentOf = (request: ModelRequest | undefined) => JSON.stringify(request?.messages)

interface Written {
  readonly write?: () => ScriptedReply | Error | Promise<ScriptedReply>
  readonly compaction?: CompactionSettings | false
  readonly turns?: number
  readonly limits?: object
  /** Replies to "wait" come after this. */
  readonly hold?: Promise<void>
}

/** A conversation of some turns, whose agent answers "reply". */
async function conversation({
  write = () => say('They talked.'),
  compaction = {},
  turns = 6,
  limits,
  hold,
}: Written = {}) {
  const scripted = recordedModel('test/m', () => say('reply'))
  const model = {
    ...scripted,
    async reply(...args: Parameters<typeof scripted.reply>) {
      if (!isHandoff(args[0])) {
        if (sentOf(args[0])?.endsWith('"wait"}]}]')) await hold
        return scripted.reply(...args)
      }
      scripted.requests.push(args[0])
      const written = await write()
      if (written instanceof Error) throw written
      return recordedModel('test/m', () => written).reply(...args)
    },
  }
  const agent = defineWorker({ instructions: 'x', model, compaction })
  const troupe = await TestTroupe.start({ workers: { agent } })
  const session = await troupe.create('agent', 'text 1', { keepOpen: true, ...(limits && { limits }) })
  for (let run = 1; run <= turns; run++) {
    if (run > 1) await session.root.send(`text ${run}`)
    await awaitResult(session, { run })
  }
  const findings = async () => (await troupe.client.audit({ sessionId: session.id })).findings
  const handoffs = () => scripted.requests.filter(isHandoff)
  const last = () => sentOf(scripted.requests.filter((request) => !isHandoff(request)).at(-1))
  return { troupe, session, root: session.root, agent, model, handoffs, last, findings }
}

describe('a conversation that somebody has compacted', () => {
  test('a conversation compacted by hand goes on with a summary as the instruction asks, and the answer says for how many messages it stands', async () => {
    const talk = await conversation()
    await using _ = talk.troupe
    const answer = await talk.root.compact({ instruction: 'the name of the dog', keepLast: 2 })
    expect(answer).toMatchObject({ compacted: true, messages: 10, model: 'test/m' })
    expect(sentOf(talk.handoffs()[0])).toContain('the name of the dog')
    await talk.root.send('text 7')
    await awaitResult(talk.session, { run: 7 })
    expect(talk.last()).toMatch(/They talked\..*text 6.*text 7/)
    expect(talk.last()).not.toContain('text 5')
    expect(await talk.findings()).toEqual([])
  })

  test('an order to compact lets inputs behind it be answered while the summary is written', async () => {
    const [written, replied] = [Promise.withResolvers<ScriptedReply>(), Promise.withResolvers<void>()]
    const talk = await conversation({ write: () => written.promise, hold: replied.promise })
    await using _ = talk.troupe
    await talk.root.send('wait')
    const asked = talk.root.compact({ keepLast: 2 })
    await waitUntil('the order waits', async () => (await talk.root.report()).mailbox.pending === 1)
    await talk.root.send('text 8')
    replied.resolve()
    await waitUntil('the summary is asked for', () => talk.handoffs().length === 1)
    expect(await awaitResult(talk.session, { run: 8 })).toMatchObject({ value: { text: 'reply' } })
    expect(talk.last()).toContain('text 1')
    written.resolve(say('They talked.'))
    expect(await asked).toMatchObject({ compacted: true })
    expect(await talk.findings()).toEqual([])
  })

  test.each<[string, Written, RegExp]>([
    ['is too short', { turns: 1 }, /too short/],
    ['is of a kind that does not compact', { compaction: false }, /kind "agent" does not compact/],
    ['has spent what it may', { turns: 2, limits: { modelCalls: 2 } }, /has used 2 of 2 model calls/],
    ['gets nothing of its summariser', { write: () => say('') }, /its reply was empty/],
    ['gets a call of its summariser', { write: () => call('look') }, /it called a tool instead/],
    ['gets an error of its summariser', { write: () => new TerminalError('no', { code: 'model_refused' }) }, /no/],
  ])(
    'a conversation compacted by hand stays as it is if it %s, and the answer says why',
    async (_what, written, reason) => {
      const talk = await conversation(written)
      await using _ = talk.troupe
      const before = JSON.stringify((await talk.root.context()).history.prompt())
      const answer = await talk.root.compact({ keepLast: 1 })
      expect(answer).toMatchObject({ compacted: false, reason: expect.stringMatching(reason) })
      expect(JSON.stringify((await talk.root.context()).history.prompt())).toBe(before)
      expect(await talk.findings()).toEqual([])
    },
  )

  test('a conversation compacted by hand is compacted by another node if the first one goes away while the summary is written', async () => {
    const never = Promise.withResolvers<ScriptedReply>()
    let isFirst = true
    const write = () => {
      if (!isFirst) return say('They talked.')
      isFirst = false
      return never.promise
    }
    const talk = await conversation({ write })
    await using _ = talk.troupe
    const asked = talk.root.compact({ keepLast: 2 })
    await waitUntil('the summary is asked for', () => talk.handoffs().length === 1)
    const stopped = talk.troupe.nodes[0]?.stop({ force: true })
    await talk.troupe.startNode({ agent: talk.agent })
    never.reject(new Error('gone'))
    await stopped
    expect(await asked).toMatchObject({ compacted: true })
    const types = (await talk.troupe.history(talk.root.id)).map(({ type }) => type)
    expect(types.filter((type) => type === 'ordered' || type === 'compacted' || type === 'orderRefused')).toEqual([
      'ordered',
      'compacted',
    ])
    expect(await talk.findings()).toEqual([])
  })

  test('a conversation compacted by hand is compacted by a third node if the second one finds the order as it drains (PERMIT-6)', async () => {
    const never = Promise.withResolvers<ScriptedReply>()
    let writes = 0
    const talk = await conversation({ write: () => (++writes === 1 ? never.promise : say('They talked.')) })
    await using _ = talk.troupe
    const asked = talk.root.compact({ keepLast: 2 })
    await waitUntil('the summary is asked for', () => talk.handoffs().length === 1)
    const gone = talk.troupe.nodes[0]?.stop({ force: true })
    const second = Promise.withResolvers<TroupeNode>()
    let drained: Promise<void> | undefined
    const aroundTurns = (turns: TurnStore) =>
      changedStore(turns, {
        async readHistory(workerId, from) {
          drained ??= (await second.promise).stop()
          return turns.readHistory(workerId, from)
        },
      })
    second.resolve(await talk.troupe.startNode({ agent: talk.agent }, { aroundTurns }))
    await waitUntil('the second node drains', () => drained !== undefined)
    await drained
    never.reject(new Error('gone'))
    await gone
    await talk.troupe.startNode({ agent: talk.agent })
    expect(await asked).toMatchObject({ compacted: true })
    expect(writes).toBe(2)
  })

  test('a conversation compacted by hand is expanded by hand', async () => {
    const talk = await conversation()
    await using _ = talk.troupe
    const before = JSON.stringify((await talk.root.context()).history.prompt())
    await talk.root.compact({ keepLast: 2 })
    await awaitIdle(talk.session)
    await talk.root.expand()
    expect(JSON.stringify((await talk.root.context()).history.prompt())).toBe(before)
  })
})

describe('an order that waits behind a run', () => {
  /** A conversation whose tool call lasts, and an order that waits behind its run. */
  async function waiting() {
    const never = Promise.withResolvers<string>()
    const hold = defineTool({ name: 'hold', description: 'Waits.', effect: 'pure', run: () => never.promise })
    const model = recordedModel('test/m', (_request, number) => (number === 1 ? call('hold') : say('reply')))
    const troupe = await TestTroupe.start({
      workers: { agent: defineWorker({ instructions: 'x', model, tools: [hold] }) },
    })
    const { root } = await troupe.create('agent', 'text 1', { keepOpen: true })
    await waitUntil('its tool runs', async () => (await root.report()).run === 'ExecutingTools')
    const asked = root.configure({ tools: [] })
    asked.catch(() => {})
    await waitUntil('the order waits', async () => (await root.report()).mailbox.pending === 1)
    return { troupe, root, asked }
  }

  test('an order that waits behind a run is done, and answered, when that run is cancelled', async () => {
    const { troupe, root, asked } = await waiting()
    await using _ = troupe
    expect(await root.cancelRun()).toBe(true)
    expect(await asked).toEqual({ tools: [] })
    const types = (await troupe.history(root.id)).map(({ type }) => type)
    expect(types.slice(-3)).toEqual(['cancelled', 'ordered', 'configured'])
  })

  test('an order that waits behind a run throws an error when the worker is cancelled for good', async () => {
    const { troupe, root, asked } = await waiting()
    await using _ = troupe
    await root.cancel()
    await expect(asked).rejects.toMatchObject({ code: 'session_finished' })
  })
})

test('an order that was put aside, because it took its node down again and again, is reported to its caller (CLIENT-ORDERS-3)', async () => {
  const { troupe, root } = await conversation({ turns: 1 })
  await using _ = troupe
  await troupe.redis.hset(workerKeys(troupe.tag, root.id).record, 'isolated', '3', 'crashes', '5')
  await expect(root.configure({ tools: [] })).rejects.toThrow('was put aside: troupe mailbox dead')
})

test('an order that took its node down again and again after it was received is refused, and the message behind it is received', async () => {
  const never = Promise.withResolvers<ScriptedReply>()
  const { troupe, root, session, handoffs } = await conversation({ write: () => never.promise, turns: 3 })
  await using _ = troupe
  const asked = root.compact({ keepLast: 1 })
  await waitUntil('the summary is asked for', () => handoffs().length === 1)
  await root.send('behind')
  // As after five nodes that died with it, the last of them before the sweep.
  const { record } = workerKeys(troupe.tag, root.id)
  const epoch = Number((await troupe.redis.hget(record, 'token'))?.split(':')[0])
  await troupe.redis.hset(record, { token: `${epoch + 5}:`, isolated: 3, crashes: 4, status: 'queued' })
  const { leases, run } = partitionKeys(troupe.tag)
  await troupe.redis.zrem(leases, root.id)
  await troupe.redis.zadd(run('default'), 1, root.id)
  expect(await asked).toMatchObject({ compacted: false, reason: expect.stringContaining('took its node down') })
  expect(await awaitResult(session, { run: 4 })).toMatchObject({ failure: { code: 'poison' } })
  expect(await awaitResult(session, { run: 5 })).toMatchObject({ status: 'completed' })
  expect(await troupe.client.deadLetters()).toMatchObject([{ message: null, killedBy: 'order inbox-3 (compact)' }])
  never.resolve(say('They talked.'))
})

test('an order is gone when its session is cancelled while the summary is written, and nobody waits for it', async () => {
  const never = Promise.withResolvers<ScriptedReply>()
  const talk = await conversation({ write: () => never.promise })
  await using _ = talk.troupe
  const asked = talk.root.compact({ keepLast: 2 })
  await waitUntil('the summary is asked for', () => talk.handoffs().length === 1)
  // An order that was not recorded as received waits in the mailbox, and another error says so.
  await waitUntil('the order is recorded', async () =>
    (await talk.root.history()).some(({ entry }) => entry.type === 'ordered'),
  )
  await talk.session.cancel()
  never.resolve(say('They talked.'))
  expect(await asked).toMatchObject({
    compacted: false,
    reason: expect.stringContaining('was cancelled in the meantime'),
  })
})

test('an order that ends while a client checks whether its worker has ended is reported by its end (CLIENT-ORDERS-1)', async () => {
  const talk = await conversation({ turns: 1 })
  await using _ = talk.troupe
  await talk.session.cancel()
  const store = new InspectStore(talk.troupe.redis, partitionKeys(talk.troupe.tag), 0)
  const session = vi.spyOn(store, 'session')
  const worker = {
    id: talk.root.id,
    store,
    submission: { order: async () => ({ position: 0, again: false }) },
    history: async ({ after = -1 }) =>
      session.mock.calls.length > 0 && after < 9
        ? [{ position: 9, entry: { type: 'cancelled', dropped: { id: 'inbox-0' } } }]
        : [],
  } as unknown as Parameters<typeof compact>[0]
  expect(await compact(worker, {})).toMatchObject({ compacted: false, reason: expect.stringContaining('cancelled') })
})

test('an order that waits for long, or is received while a client looks what became of it, is not taken for refused (CLIENT-ORDERS-1)', async () => {
  const talk = await conversation({ turns: 1 })
  await using _ = talk.troupe
  /** The history says only this when the client has asked the store what became of the order, and how the order ended long after that. */
  const outcomeAt = (position: number, meanwhile: object[]) => {
    const store = new InspectStore(talk.troupe.redis, partitionKeys(talk.troupe.tag), 0)
    const session = store.session.bind(store)
    let askedAt = Number.POSITIVE_INFINITY
    vi.spyOn(store, 'session').mockImplementation((id) => {
      askedAt = Math.min(askedAt, performance.now())
      return session(id)
    })
    const end = { type: 'compacted', order: `inbox-${position}`, messages: 7 }
    const now = () =>
      performance.now() > askedAt + 500 ? [end] : askedAt < Number.POSITIVE_INFINITY ? meanwhile.splice(0) : []
    const history = async () => now().map((entry) => ({ position: 9, entry }))
    const submission = { order: async () => ({ position, again: false }) }
    return compact({ id: talk.root.id, store, submission, history } as unknown as Parameters<typeof compact>[0], {})
  }
  const outcomes = [outcomeAt(99, []), outcomeAt(0, [{ type: 'ordered', message: 'inbox-0' }])]
  const compacted = { compacted: true, messages: 7 }
  expect(await Promise.all(outcomes)).toMatchObject([compacted, compacted])
})

describe('a run on what is there', () => {
  test('a run without a new input answers a message that was pushed', async () => {
    const talk = await conversation({ turns: 1 })
    await using _ = talk.troupe
    await awaitIdle(talk.session)
    await talk.root.push(chat.user('Say it again.'))
    expect(await talk.root.run()).toBe(2)
    expect(await awaitResult(talk.session, { run: 2 })).toMatchObject({ value: { text: 'reply' } })
    expect(talk.last()).toContain('Say it again.')
    expect(await talk.findings()).toEqual([])
    await awaitIdle(talk.session)
    await talk.root.undo()
    expect((await talk.root.context()).history.messages.map(({ type }) => type)).toEqual(['user', 'assistant'])
  })

  test('a run without a new input that failed goes on when its session is retried, and tells its kind of its cancel', async () => {
    const cancelled: string[] = []
    const model = recordedModel('test/m', async (_request, number) => {
      if (number <= 2) return new TerminalError('no', { code: 'model_refused' })
      return number === 3 ? say('reply') : new Promise<never>(() => {})
    })
    const onCancel = (_self: unknown, reason: string) => void cancelled.push(reason)
    await using troupe = await TestTroupe.start({
      workers: { agent: defineWorker({ instructions: 'x', model, onCancel }) },
    })
    const session = await troupe.create('agent', 'text 1', { keepOpen: true })
    const { root } = session
    for (const run of [1, 2]) {
      if (run === 2) await root.run()
      expect(await awaitResult(session, { run })).toMatchObject({ status: 'failed' })
      await awaitIdle(session)
    }
    expect(await session.retry()).toEqual({ run: 2, step: 'model call 1' })
    expect(await awaitResult(session, { run: 2 })).toMatchObject({ value: { text: 'reply' } })
    await awaitIdle(session)
    await root.push(chat.user('And now?'))
    await root.run()
    await waitUntil('the model is asked again', () => model.requests.length === 4)
    await root.cancelRun('enough')
    expect(await awaitResult(session, { run: 3 })).toMatchObject({ status: 'cancelled' })
    expect(cancelled).toEqual(['enough'])
    expect((await troupe.client.audit({ sessionId: session.id })).findings).toEqual([])
  })

  test('a run without a new input needs messages, the last of them an input', async () => {
    const talk = await conversation({ turns: 1 })
    await using _ = talk.troupe
    await awaitIdle(talk.session)
    await expect(talk.root.run()).rejects.toThrow('last entry is not an input.')
    await talk.root.undo()
    await expect(talk.root.run()).rejects.toThrow('no messages in history.')
  })
})

test('a conversation that was closed takes no orders, and says so', async () => {
  const talk = await conversation({ turns: 1 })
  await using _ = talk.troupe
  await talk.session.close()
  const closed = { code: 'transition_illegal', message: expect.stringContaining('a conversation that was closed') }
  await expect(talk.root.compact()).rejects.toMatchObject(closed)
  await expect(talk.root.configure({ model: null })).rejects.toMatchObject(closed)
  await expect(talk.root.run()).rejects.toMatchObject(closed)
})

test('the root of a job, and a handler, take no orders', async () => {
  const agent = defineWorker({ instructions: 'x', model: recordedModel('test/m', () => say('reply')) })
  const handler = defineWorker({ receive: (_message, self) => self.reply('done') })
  await using troupe = await TestTroupe.start({ workers: { agent, handler } })
  const job = await troupe.create('agent', 'x')
  await awaitResult(job)
  await expect(job.root.compact()).rejects.toThrow('is the root of a job')
  const talk = await troupe.create('handler', 'x', { keepOpen: true })
  await awaitResult(talk, { run: 1 })
  await expect(talk.root.compact()).rejects.toThrow('is no agent')
  await expect(talk.root.compact({ keep: 3 } as never)).rejects.toThrow('compact does not know the option "keep"')
})
