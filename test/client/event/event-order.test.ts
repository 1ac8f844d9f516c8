/** The order in which a follower gets the events of a run, and what they say of its states and messages. */
import { describe, expect, test } from 'vitest'
import type { ContextUpdate } from '../../../src/client/event/context-updates.ts'
import type { Session } from '../../../src/client/session/session.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import type { Model } from '../../../src/core/definition/model.ts'
import type { RawEvent } from '../../../src/core/event/event.ts'
import { call, say, scriptedModel } from '../../../src/models/local/scripted-model.ts'
import { tool } from '../../support/provider/run-agent.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitEvents } from '../../support/time/await-session.ts'
import { patienceMs } from '../../support/time/patience.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

/** A model that begins once it may, and ends its answer once what it has written was seen. */
function streaming(mayBegin: Promise<void>, wasSeen: Promise<void>): Model {
  const scripted = scriptedModel('test/m', [call('look', { at: 'x' }), say('all is well')])
  return {
    id: 'test/m',
    async reply(request, modelCall) {
      await mayBegin
      const isAnswer = request.messages.length > 1
      if (isAnswer) modelCall.onDelta({ type: 'text', text: 'all is ' })
      if (isAnswer) await wasSeen
      return scripted.reply(request, modelCall)
    },
  }
}

const now = Promise.resolve()

async function talked(mayBegin = now, wasSeen = now) {
  const agent = defineWorker({
    instructions: 'x',
    model: streaming(mayBegin, wasSeen),
    tools: [tool('look', () => 'seen', 'once')],
  })
  return TestTroupe.start({ workers: { agent } })
}

const pastOf = (session: Session) => Array.fromAsync(awaitEvents(session, { after: '0-0', transient: false }))

describe('events of a run', () => {
  test('events of a run come in one order: session, run, reply, calls, the next reply, the end of the run, the end of the session [1.27]', async () => {
    await using troupe = await talked()
    const session = await troupe.create('agent', 'go')
    await session.result()
    expect((await pastOf(session)).map(({ type, details }) => [type, details])).toMatchObject([
      ['session.created', { kind: 'agent' }],
      ['run.started', {}],
      ['model.replied', { iteration: 1, calls: 1 }],
      ['tool.started', { toolName: 'look' }],
      ['tool.succeeded', { toolName: 'look' }],
      ['model.replied', { iteration: 2, calls: 0 }],
      ['run.completed', {}],
      ['session.completed', {}],
    ])
  })

  test('events of a child come between its spawn and the result that its parent receives [1.27]', async () => {
    const child = defineWorker({ receive: (message, self) => self.reply(message.value) })
    const parent = defineWorker({
      receive(message, self) {
        if (message.kind === 'input') self.spawn('child', 1)
        else self.reply('done')
      },
    })
    await using troupe = await TestTroupe.start({ workers: { parent, child } })
    const session = await troupe.create('parent')
    await session.result()
    const told = (await pastOf(session)).map(
      ({ type, workerId }) => `${workerId === session.rootId ? 'parent' : 'child'} ${type}`,
    )
    const isFirst = (first: string, second: string) => told.indexOf(first) < told.indexOf(second)
    expect(told.at(0)).toBe('parent session.created')
    expect(isFirst('parent worker.spawned', 'child run.started')).toBe(true)
    expect(isFirst('child run.completed', 'parent message.consumed')).toBe(true)
    expect(isFirst('parent message.consumed', 'parent run.completed')).toBe(true)
    expect(told.at(-1)).toBe('parent session.completed')
  })
})

describe('session.updates', () => {
  /** The states one after the other, as the updates name them. */
  const path = (updates: readonly ContextUpdate[]) =>
    updates.flatMap(({ previousState, currentState }) =>
      previousState === undefined ? [] : [`${previousState}>${currentState}`],
    )

  test('session.updates tell each change of state with the state before, and the outcome of each message [1.4, 3.21]', async () => {
    const [begin, seen] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    await using troupe = await talked(begin.promise, seen.promise)
    const session = await troupe.client.sessions.create({ kind: 'agent', input: 'go' }, { follow: true })
    const updates: ContextUpdate[] = []
    for await (const update of session.updates({ after: '0-0', signal: AbortSignal.timeout(patienceMs) })) {
      updates.push(update)
      if (update.currentState === 'AwaitingLLMResponse') begin.resolve()
      if (update.messageUpdate?.type === 'contentDelta') seen.resolve()
    }
    const states = path(updates)
    // Each change begins where the one before it ended.
    const [begun, reached] = [0, 1].map((side) => states.map((change) => change.split('>')[side]))
    expect(begun?.slice(1)).toEqual(reached?.slice(0, -1))
    expect(states[0]).toBe('Idle>ProcessingUserMessage')
    expect(states).toContain('ProcessingUserMessage>AwaitingLLMResponse')
    expect(states.join(' ')).toMatch(/>ExecutingTools .*>AwaitingLLMResponse/)
    expect(states.at(-1)).toMatch(/>Idle$/)
    const messages = updates.flatMap(({ messageUpdate }) => messageUpdate ?? [])
    expect(messages[0]).toEqual({ type: 'created', role: 'user' })
    expect(messages.filter(({ type }) => type === 'statusChanged')).toMatchObject([
      { status: 'started' },
      { status: 'succeeded' },
    ])
    expect(messages.filter(({ type }) => type === 'completed')).toEqual([
      { type: 'completed', iteration: 1, toolCalls: 1 },
      { type: 'completed', iteration: 2, toolCalls: 0 },
    ])
    const pieces = messages.filter((message) => message.type === 'contentDelta')
    expect(pieces[0]).toMatchObject({ delta: 'all is ', accumulated: 'all is ' })
    expect(pieces.map(({ delta }) => delta).join('')).toBe(pieces.at(-1)?.accumulated)
    const created = messages.findIndex((message) => message.type === 'created' && message.role === 'assistant')
    expect(messages[created + 1]).toMatchObject({ type: 'contentDelta', messageId: pieces[0]?.messageId })
  })

  test('session.updates tell the outcome of each approval and each call, even of one that failed [3.21]', async () => {
    const pay = { ...tool('pay', () => 'paid', 'once'), approval: 'always' } as const
    const fall = tool('fall', () => Promise.reject(new Error('no floor')), 'once')
    const model = scriptedModel('test/m', [
      call('pay', {}, 'p1'),
      call('pay', {}, 'p2'),
      call('fall', {}, 'f'),
      say('ok'),
    ])
    const agent = defineWorker({ instructions: 'x', model, tools: [pay, fall] })
    await using troupe = await TestTroupe.start({ workers: { agent } })
    const session = await troupe.create('agent', 'go')
    const asked: string[] = []
    for (const decision of ['approve', 'deny'] as const) {
      const ask = await waitUntil('it asks', async () => (await session.asks()).find(({ id }) => !asked.includes(id)))
      asked.push(ask.id)
      await troupe.client.approvals.decide(ask.id, { decision })
    }
    await session.result()
    const updates = await Array.fromAsync(session.updates({ after: '0-0', signal: AbortSignal.timeout(patienceMs) }))
    const [first, second] = asked
    expect(
      updates.flatMap(({ messageUpdate }) =>
        messageUpdate?.type === 'statusChanged' ? [[messageUpdate.id, messageUpdate.status]] : [],
      ),
    ).toEqual([
      [first, 'pending'],
      [first, 'approved'],
      ['p1', 'started'],
      ['p1', 'succeeded'],
      [second, 'pending'],
      [second, 'denied'],
      ['f', 'started'],
      ['f', 'failed'],
    ])
    expect(path(updates)).toContain('ProcessingUserMessage>ExecutingTools')
    expect(path(updates)).toContain('ExecutingTools>AwaitingToolApproval')
  })

  test('updates of an ended session are made from what is stored, and know fewer states', async () => {
    await using troupe = await talked()
    const session = await troupe.create('agent', 'go')
    await session.result()
    const updates = await Array.fromAsync(session.updates({ after: '0-0', signal: AbortSignal.timeout(patienceMs) }))
    expect(path(updates)).toEqual([
      'Idle>ProcessingUserMessage',
      'ProcessingUserMessage>ExecutingTools',
      'ExecutingTools>Idle',
    ])
  })

  test('session.updates cost nothing if nobody follows the session: no state is published', async () => {
    await using troupe = await talked()
    const published: RawEvent[] = []
    const listener = troupe.redis.duplicate()
    await listener.psubscribe(`${troupe.tag}:live:*`)
    listener.on('pmessage', () => published.push({} as RawEvent))
    await troupe.run('agent', 'go')
    listener.disconnect()
    expect(published).toEqual([])
  })
})
