/** Where a turn of an agent ends, and what a run finds of the one before it. */
import { expect, test } from 'vitest'
import { defineTool } from '../../../src/core/define-tool.ts'
import { defineWorker } from '../../../src/core/define-worker.ts'
import { TerminalError } from '../../../src/core/errors.ts'
import { call, say } from '../../../src/models/scripted-model.ts'
import { recordedModel } from '../../support/recorded-model.ts'
import { TestTroupe } from '../../support/test-troupe.ts'

test.each(['in the turn of the one before', 'in a turn of its own'])(
  'a run %s begins without the failure and the iterations of that one',
  async (when) => {
    const look = defineTool({ name: 'look', description: 'Looks.', effect: 'pure', run: () => 'seen' })
    const refused = new TerminalError('401', { code: 'model_refused' })
    const model = recordedModel('test/m', [call('look'), refused, call('look'), say('done')])
    const agent = defineWorker({ instructions: 'x', model, tools: [look] })
    await using troupe = await TestTroupe.connect()
    const session = await troupe.create('agent', 'first', { keepOpen: true })
    if (when === 'in a turn of its own') {
      await troupe.startNode({ agent })
      await session.result({ run: 1 })
      await session.root.send('second')
    } else {
      await session.root.send('second')
      await troupe.startNode({ agent })
    }
    expect(await session.result({ run: 2 })).toMatchObject({ status: 'completed' })
    expect(await session.root.report()).toMatchObject({ iterations: 2, lastFailure: null, usage: { modelCalls: 3 } })
  },
)

test('a blank reply is a model call of its run, and no iteration', async () => {
  const model = recordedModel('test/m', [{ content: [] }, say('done')])
  await using troupe = await TestTroupe.start({ workers: { agent: defineWorker({ instructions: 'x', model }) } })
  const session = await troupe.create('agent')
  expect(await session.result()).toMatchObject({ status: 'completed' })
  expect(await session.root.report()).toMatchObject({ iterations: 1, usage: { modelCalls: 2 } })
})

test('a node that stops ends the turn of an agent at its next step, and another goes on (N3)', async () => {
  const begun = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  let runs = 0
  const wait = defineTool({
    name: 'wait',
    description: 'Waits.',
    effect: 'once',
    async run() {
      runs++
      begun.resolve()
      await gate.promise
      return 'waited'
    },
  })
  const [first, second] = [
    recordedModel('test/1', [call('wait'), say('here')]),
    recordedModel('test/2', [say('there')]),
  ]
  const agentOf = (model: typeof first) => ({ agent: defineWorker({ instructions: 'x', model, tools: [wait] }) })
  await using troupe = await TestTroupe.connect()
  const node = await troupe.startNode(agentOf(first))
  const session = await troupe.create('agent')
  await begun.promise
  const stopping = node.stop()
  gate.resolve()
  await stopping
  expect((await troupe.history(session.rootId)).map(({ type }) => type)).toEqual([
    'user',
    'assistant',
    'toolStarted',
    'toolResult',
  ])
  await troupe.startNode(agentOf(second))
  expect(await session.result()).toMatchObject({ status: 'completed', value: { text: 'there' } })
  expect([first.requests.length, second.requests.length, runs]).toEqual([1, 1, 1])
})
