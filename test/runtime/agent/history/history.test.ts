/** What a node keeps of a conversation between turns, and what it reads when other nodes have added entries. */
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../../src/core/definition/tool/define-tool.ts'
import type { Json } from '../../../../src/core/history/chat/chat-message.ts'
import { call, say, scriptedModel, together } from '../../../../src/models/local/scripted-model.ts'
import { partitionKeys, workerKeys } from '../../../../src/store/keys.ts'
import { recordedModel } from '../../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../../support/test-troupe.ts'
import { waitUntil } from '../../../support/time/wait-until.ts'

function talker(name: string) {
  const model = recordedModel(`test/${name}`, (request) => say(`${name} was sent ${request.messages.length}`))
  return { model, workers: { talker: defineWorker({ instructions: 'Talk.', model }) } }
}

describe('a conversation', () => {
  test('a conversation stays in the memory of its node: earlier messages of a prompt are the same objects', async () => {
    const { model, workers } = talker('one')
    await using troupe = await TestTroupe.start({ workers })
    const session = await troupe.create('talker', 'first', { keepOpen: true })
    await session.result({ run: 1 })
    await session.root.send('second')
    expect(await session.result({ run: 2 })).toMatchObject({ value: { text: 'one was sent 3' } })
    const [before, after] = model.requests
    expect(after?.messages[0]).toBe(before?.messages[0])
  })

  test('a conversation is completed by a node that knows a part of it, and read by a node that knows nothing', async () => {
    const [one, two] = [talker('one'), talker('two')]
    await using troupe = await TestTroupe.connect()
    const first = await troupe.startNode(one.workers)
    const session = await troupe.create('talker', 'first', { keepOpen: true })
    await session.result({ run: 1 })
    const second = await troupe.startNode(two.workers)
    await first.stop()
    await session.root.send('second')
    expect(await session.result({ run: 2 })).toMatchObject({ value: { text: 'two was sent 3' } })
    // Starts the first node again, as a new node of the same definitions, beside a node that has seen both.
    const third = await troupe.startNode(one.workers)
    await second.stop()
    await session.root.send('third')
    expect(await session.result({ run: 3 })).toMatchObject({ value: { text: 'one was sent 5' } })
    expect(one.model.requests.at(-1)?.messages.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
      'user',
    ])
    await third.stop()
  })

  test('a conversation has messages whose ids are their positions in the history, after any events of a run', async () => {
    const echo = defineWorker({ receive: (message, self) => self.reply(message.value) })
    const fine = defineTool({ name: 'fine', description: 'x', effect: 'pure', run: () => 1 })
    const spawn = (more: Record<string, Json>) =>
      call('spawn_workers', { tasks: [{ kind: 'echo', input: 1, ...more }] })
    const model = scriptedModel('test/m', [
      { content: [] },
      together(call('fine'), call('unknown'), call('fine', { x: 1 }), call('unknown as well')),
      together(spawn({}), spawn({ detached: true }), call('fine')),
      say('done'),
      { content: [] },
      ...[1, 2, 3].map(() => call('fine')),
      // None of these calls is run: no model would read their results.
      together(call('fine'), call('fine'), call('fine')),
    ])
    const limits = { iterations: 4 }
    const agent = defineWorker({ instructions: 'x', nudge: 'Go on.', model, tools: [fine], spawns: ['echo'], limits })
    await using troupe = await TestTroupe.start({ workers: { agent, echo } })
    const session = await troupe.create('agent', 'one', { keepOpen: true })
    expect(await session.result({ run: 1 })).toMatchObject({ status: 'completed' })
    await session.root.send('two')
    const result = await session.result({ run: 2 })
    expect(result).toMatchObject({ status: 'failed', failure: { code: 'iterations_exceeded' } })
    const history = await troupe.history(session.rootId)
    const messages = history.flatMap((entry, place) => ('id' in entry ? [[entry.id, `m${place}`]] : []))
    expect(messages.length).toBeGreaterThan(15)
    expect(messages.map(([id]) => id)).toEqual(messages.map(([, id]) => id))
  })

  test('a conversation goes on past entries of a newer version and unreadable ones', async () => {
    const { model, workers } = talker('one')
    await using troupe = await TestTroupe.connect()
    const first = await troupe.startNode(workers)
    const session = await troupe.create('talker', 'first', { keepOpen: true })
    await session.result({ run: 1 })
    await first.stop()
    const { log } = workerKeys(partitionKeys(troupe.tag).tag, session.rootId)
    await troupe.redis.rpush(log, '{"type":"hologram","v":9,"at":1,"run":1,"epoch":1}', 'no json', '[]', 'null')
    await troupe.startNode(workers)
    await session.root.send('second')
    expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed' })
    expect(model.requests.at(-1)?.messages).toHaveLength(3)
  })
})

describe('a kind that changes during a run', () => {
  test('a kind that changes during a run answers a recorded call of a removed tool with an error for the model [1.40]', async () => {
    const hangs = Promise.withResolvers<never>()
    hangs.promise.catch(() => {})
    const started = Promise.withResolvers<void>()
    const old = defineTool({
      name: 'old',
      description: 'x',
      effect: 'pure',
      run: () => {
        started.resolve()
        return hangs.promise
      },
    })
    const first = recordedModel('test/m', [call('old', {}, 'a')])
    const second = recordedModel('test/m', [say('fine')])
    await using troupe = await TestTroupe.connect()
    const node = await troupe.startNode({ agent: defineWorker({ instructions: 'x', model: first, tools: [old] }) })
    const session = await troupe.create('agent', 'go')
    await started.promise
    await node.stop({ force: true })
    await troupe.startNode({ agent: defineWorker({ instructions: 'x', model: second }) })
    expect(await session.result()).toMatchObject({ status: 'completed', value: { text: 'fine' } })
    expect(second.requests[0]?.messages.at(-1)).toMatchObject({
      results: [
        { toolCallId: 'a', output: { type: 'error-text', value: "Error: unknown tool 'old'. Available: none" } },
      ],
    })
  })
})

test('an input is recorded while its model is being asked, even if another run of the same turn came before', async () => {
  const [first, asked, second] = [1, 2, 3].map(() => Promise.withResolvers<void>()) as [Gate, Gate, Gate]
  const model = scriptedModel('test/slow', async (_request, number) => {
    if (number === 1) await first.promise
    else {
      asked.resolve()
      await second.promise
    }
    return say(`answer ${number}`)
  })
  const agent = defineWorker({ model, instructions: 'You answer.' })
  await using troupe = await TestTroupe.connect()
  const session = await troupe.create('agent', 'one', { keepOpen: true })
  await session.root.send('two')
  first.resolve()
  await troupe.startNode({ agent })
  await asked.promise
  await waitUntil('the second input is in the history', async () => (await troupe.history(session.rootId)).length === 4)
  second.resolve()
  expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed' })
})

type Gate = PromiseWithResolvers<void>
