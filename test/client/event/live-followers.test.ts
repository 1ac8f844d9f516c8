/** What followers of a session are told of its workers as they work, and that nothing is told when nobody follows. */
import { describe, expect, test, vi } from 'vitest'
import type { Session } from '../../../src/client/session/session.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import type { Model, ModelCall } from '../../../src/core/definition/model.ts'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import type { RawEvent } from '../../../src/core/event/event.ts'
import { call, say, scriptedModel } from '../../../src/models/local/scripted-model.ts'
import { RedisLivePublisher } from '../../../src/store/event/live-channel.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitEvents } from '../../support/time/await-session.ts'
import { hourMs } from '../../support/time/due-timers.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

function follow(session: Session, query: Parameters<Session['events']>[0] = { after: '0-0' }) {
  const events: RawEvent[] = []
  const done = (async () => {
    for await (const event of awaitEvents(session, query)) events.push(event)
  })()
  const of = (type: string) => events.filter((event) => event.type === type)
  const states = () => of('worker.stateChanged').map(({ details }) => details.state)
  const text = () =>
    of('text.delta')
      .map(({ details }) => details.text)
      .join('')
  return { events, done, of, states, text }
}

/** A model with one call, which the test answers by hand. */
function heldModel() {
  const asked = Promise.withResolvers<ModelCall>()
  const end = Promise.withResolvers<void>()
  const model: Model = {
    id: 'test/held',
    async reply(_request, modelCall) {
      asked.resolve(modelCall)
      await end.promise
      return {
        model: 'test/held',
        finishReason: 'stop',
        usage: { inputTokens: 1, outputTokens: 1 },
        ...say('all of it'),
      }
    },
  }
  return { model, asked: asked.promise, end: () => end.resolve() }
}

function closedGate() {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  return { gate, open: () => open() }
}

function heldTool(effect: 'pure' | 'idempotent' | 'once') {
  const { promise, resolve } = Promise.withResolvers<void>()
  let hasBegun = false
  const tool = defineTool({
    name: 'look',
    description: 'Looks.',
    effect,
    approval: 'never',
    async run(_input, { progress }) {
      progress('half')
      hasBegun = true
      await promise
      return 1
    },
  })
  return { tool, hasBegun: () => hasBegun, end: () => resolve() }
}

describe('a follower', () => {
  test.each(['pure', 'idempotent', 'once'] as const)(
    'a follower sees each state of an agent, and once that its %s tool runs, before the tool ends',
    async (effect) => {
      const { tool, end } = heldTool(effect)
      const { gate, open } = closedGate()
      const scripted = scriptedModel('test/m', [call('look'), say('ok')])
      const model: Model = { id: 'test/m', reply: async (...asked) => gate.then(() => scripted.reply(...asked)) }
      const agent = defineWorker({ instructions: 'x', model, tools: [tool] })
      await using troupe = await TestTroupe.start({ workers: { agent } })
      const session = await troupe.create('agent', null, { keepOpen: true })
      const follower = follow(session)
      await waitUntil('it is told that the model is asked', () => follower.states().length > 0)
      open()
      await waitUntil('the tool and its progress are told', () => follower.of('tool.progress').length > 0)
      expect(follower.of('tool.started')).toMatchObject([{ details: { toolName: 'look' } }])
      expect(follower.of('tool.progress')).toMatchObject([
        { details: { toolName: 'look', value: 'half' }, transient: true },
      ])
      end()
      await waitUntil('its end is told', () => follower.states().at(-1) === 'inactive')
      expect(follower.of('tool.started')).toHaveLength(1)
      const expected = ['requesting', 'usingTool', 'requesting', 'working', 'inactive']
      expect(follower.states().filter((state) => state !== 'receiving')).toEqual(expected)
      await session.close()
    },
  )

  test('a follower sees that a handler works, waits for its child, and works again', async () => {
    const child = defineWorker({ receive: (message, self) => self.reply(message.value) })
    const { gate, open } = closedGate()
    const parent = defineWorker({
      async receive(message, self) {
        await gate
        if (message.kind === 'input') self.spawn('child', 1)
        else self.reply('done')
      },
    })
    await using troupe = await TestTroupe.start({ workers: { parent, child } })
    const session = await troupe.create('parent', null, { keepOpen: true })
    const follower = follow(session)
    await waitUntil('it is told that the parent works', () => follower.states().length > 0)
    open()
    const ofRoot = () =>
      follower
        .of('worker.stateChanged')
        .filter(({ workerId, details }) => workerId === session.rootId && details.state !== details.from)
    await waitUntil('its end is told', () => ofRoot().at(-1)?.details.state === 'inactive')
    expect(ofRoot().map(({ details }) => details.state)).toEqual(['working', 'waiting', 'working', 'inactive'])
    await session.close()
  })

  test('a follower that comes late gets the state, the running tool with its progress, and the text from its beginning, once', async () => {
    const held = heldModel()
    await using troupe = await TestTroupe.start({
      workers: { agent: defineWorker({ instructions: 'x', model: held.model }) },
    })
    const session = await troupe.create('agent')
    const modelCall = await held.asked
    modelCall.onFirstByte()
    modelCall.onDelta({ type: 'reasoning', text: 'hm' })
    for (const text of ['one ', 'two ', 'three ']) modelCall.onDelta({ type: 'text', text })
    const first = follow(session)
    await waitUntil('the text so far is told', () => first.text() === 'one two three ')
    expect(first.states()).toEqual(['receiving'])
    const second = follow(session, {})
    await waitUntil('the second one has it too', () => second.text() === 'one two three ')
    modelCall.onDelta({ type: 'text', text: 'four' })
    await waitUntil('both have the rest', () => [first, second].every(({ text }) => text() === 'one two three four'))
    expect(second.of('text.delta').map(({ details }) => details.offset)).toEqual([0, 14])
    expect(second.of('reasoning.delta')).toMatchObject([{ details: { text: 'hm', offset: 0 } }])
    expect(new Set(second.of('text.delta').map(({ details }) => details.request)).size).toBe(1)
    held.end()
    await Promise.all([first.done, second.done])
  })

  test('a follower that comes late learns which tool runs', async () => {
    const { tool, hasBegun, end } = heldTool('pure')
    const agent = defineWorker({
      instructions: 'x',
      model: scriptedModel('test/m', [call('look'), say('ok')]),
      tools: [tool],
    })
    await using troupe = await TestTroupe.start({ workers: { agent } })
    const session = await troupe.create('agent')
    await waitUntil('the tool runs', hasBegun)
    const follower = follow(session, {})
    await waitUntil('it is told', () => follower.of('tool.progress').length > 0)
    expect(follower.states()).toEqual(['usingTool'])
    expect(follower.of('tool.started')).toMatchObject([{ transient: true, details: { toolName: 'look' } }])
    end()
    await follower.done
  })
})

test('nothing is published while nobody follows, nor for a follower of stored events only', async () => {
  const publish = vi.spyOn(RedisLivePublisher.prototype, 'publish')
  const { tool, end } = heldTool('pure')
  end()
  const model = () => scriptedModel('test/m', [call('look'), say('ok')])
  const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })
  const agent = defineWorker({ instructions: 'x', model: model(), tools: [tool] })
  await using troupe = await TestTroupe.start({ workers: { agent, echo } })
  await troupe.run('echo', 1)
  const session = await troupe.create('agent')
  const follower = follow(session, { after: '0-0', transient: false })
  await follower.done
  expect(publish).not.toHaveBeenCalled()
})

test('the record shows within a moment that a model was asked, and that it replies, without a wait for the next renewal', async () => {
  const held = heldModel()
  const never = { leaseMs: hourMs, renewEveryMs: hourMs }
  const agent = defineWorker({ instructions: 'x', model: held.model })
  await using troupe = await TestTroupe.start({ workers: { agent }, policy: never })
  const session = await troupe.create('agent')
  const modelCall = await held.asked
  const state = async () => (await session.report()).workers[0]?.state
  await waitUntil('the record says that it was asked', async () => (await state()) === 'requesting')
  modelCall.onFirstByte()
  await waitUntil('the record says that it speaks', async () => (await state()) === 'receiving')
  held.end()
  expect(await session.result()).toMatchObject({ status: 'completed' })
})

test('a follower gets what a worker logs on another node, without secrets, and bounded', async () => {
  const { gate, open } = closedGate()
  const worker = defineWorker({
    async receive(message, self) {
      await gate
      self.log.info('read files', { files: 3, password: 'hidden away' })
      self.log.warn('x'.repeat(100_000), { much: 'y'.repeat(100_000) })
      self.log.info('a circle', circle())
      self.reply(message.value)
    },
  })
  await using troupe = await TestTroupe.start({ workers: { worker } })
  const session = await troupe.create('worker', 1, { keepOpen: true })
  const follower = follow(session)
  await waitUntil('it is told that the worker works', () => follower.states().length > 0)
  open()
  await waitUntil('its log is told', () => follower.of('worker.logged').length === 3)
  const [first, second] = follower.of('worker.logged')
  expect(first).toMatchObject({
    transient: true,
    workerId: session.rootId,
    details: {
      level: 'info',
      message: 'read files',
      fields: { files: 3, password: '[redacted]' },
      node: troupe.nodes[0]?.id,
    },
  })
  expect(second?.details.level).toBe('warn')
  expect(JSON.stringify(second).length).toBeLessThan(6_000)
  await session.close()
})

test('what a worker logs right before the end of its session reaches a follower before that end (EVENTS-6)', async () => {
  const { gate, open } = closedGate()
  const worker = defineWorker({
    async receive(message, self) {
      await gate
      self.log.info('the last line')
      self.reply(message.value)
    },
  })
  await using troupe = await TestTroupe.start({ workers: { worker } })
  const sessions = await Promise.all(Array.from({ length: 20 }, () => troupe.create('worker', 1)))
  const followers = sessions.map((session) => follow(session))
  await waitUntil('all are followed', () => followers.every(({ states }) => states().length > 0))
  open()
  await Promise.all(followers.map(({ done }) => done))
  for (const { events } of followers)
    expect(events.map(({ type }) => type).filter((type) => type !== 'worker.stateChanged')).toEqual([
      'session.created',
      'worker.logged',
      'run.started',
      'run.completed',
      'session.completed',
    ])
})

function circle(): Record<string, unknown> {
  const own: Record<string, unknown> = {}
  own.own = own
  return own
}

test('a follower from the creation of a session gets everything that nodes publish, even of a run that ends at once', async () => {
  const worker = defineWorker({
    receive(message, self) {
      self.log.info('so short')
      self.reply(message.value)
    },
  })
  await using troupe = await TestTroupe.start({ workers: { worker } })
  const session = await troupe.client.sessions.create({ kind: 'worker', input: 1 }, { follow: true })
  await session.result()
  const follower = follow(session)
  await follower.done
  expect(follower.of('worker.logged')).toMatchObject([{ details: { message: 'so short' } }])
  expect(follower.events[0]?.type).toBe('session.created')
  expect(follower.events.at(-1)?.ended).toBeDefined()
  const again = follow(session)
  await again.done
  expect(again.events.every(({ transient }) => transient === undefined)).toBe(true)
})
