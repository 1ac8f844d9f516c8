/** Where a turn of an agent ends, and what a run inherits from the run before. */

import { describe, expect, test, vi } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { defineTool } from '../../../src/core/definition/tool/define-tool.ts'
import { TerminalError, TransientError } from '../../../src/core/errors.ts'
import { type Policy, policy } from '../../../src/core/policy.ts'
import type { Mail } from '../../../src/core/worker/message/message.ts'
import { call, type ScriptedReply, say } from '../../../src/models/local/scripted-model.ts'
import { openModels } from '../../../src/models/model-source.ts'
import { KindMaker } from '../../../src/runtime/node/kind-maker.ts'
import { Turn } from '../../../src/runtime/turn/turn.ts'
import { recordedModel } from '../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitResult } from '../../support/time/await-session.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { accepted, assignmentByHand, HeldStore } from '../support/held-store.ts'

test.each(['in the turn of the one before', 'in a turn of its own'])(
  'a run %s begins without the failure and the iterations of the run before',
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

test('a blank reply counts as a model call of its run but not as an iteration', async () => {
  const model = recordedModel('test/m', [{ content: [] }, say('done')])
  await using troupe = await TestTroupe.start({ workers: { agent: defineWorker({ instructions: 'x', model }) } })
  const session = await troupe.create('agent')
  expect(await session.result()).toMatchObject({ status: 'completed' })
  expect(await session.root.report()).toMatchObject({ iterations: 1, usage: { modelCalls: 2 } })
})

test('a node that stops ends the turn of an agent at its next step, and another node goes on (NODE-1)', async () => {
  const begun = Promise.withResolvers<void>()
  const gate = Promise.withResolvers<void>()
  let runs = 0
  const wait = defineTool({
    name: 'wait',
    description: 'Waits.',
    effect: 'once',
    approval: 'never',
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

test('the end of a run does not wait for the first reply of the next run in its turn [2.11]', async () => {
  const gate = Promise.withResolvers<void>()
  const model = recordedModel('test/m', async (_request, number) => {
    if (number === 2) await gate.promise
    return say(`answer ${number}`)
  })
  await using troupe = await TestTroupe.connect()
  const session = await troupe.create('agent', 'one', { keepOpen: true })
  await session.root.send('two')
  const agent = defineWorker({ instructions: 'x', model })
  await troupe.startNode({ agent }, { policy: { lazyCommitMs: 600_000 } })
  expect(await awaitResult(session, { run: 1 })).toMatchObject({ status: 'completed' })
  gate.resolve()
  expect(await awaitResult(session, { run: 2 })).toMatchObject({ status: 'completed' })
})

/** The work of a turn with these inputs, and how it ended. The model function receives the turn. */
async function oneTurn(changes: Partial<Policy>, inputs: number, model: (turn: Turn) => ScriptedReply | Error) {
  const store = new HeldStore()
  const done: string[] = []
  const look = defineTool({ name: 'look', description: 'Looks.', effect: 'pure', run: () => void done.push('tool') })
  const recorded = recordedModel('test/m', () => {
    done.push('model')
    return model(turn)
  })
  const agent = defineWorker({ instructions: 'x', model: recorded, tools: [look] })
  const [mail] = assignmentByHand().mail.inbox
  const user = Array.from({ length: inputs }, (_, position) => ({ ...(mail as Mail), position }))
  const host = store.host()
  const assignment = assignmentByHand({ mail: { signals: [], results: [], inbox: user } })
  const turn = new Turn(assignment, { ...host, policy: { ...host.policy, ...changes } })
  void new KindMaker(openModels({ env: {} })).make('agent', agent).behaviour(turn)
  for (let number = 0; !turn.over; number++) {
    await waitUntil('a commit is on its way, or the turn is over', () => turn.over ?? store.commits.length > number)
    store.commits[number]?.answer(accepted(number + 1))
  }
  const requests = store.commits.map(({ request }) => request)
  return {
    done,
    received: requests.reduce((sum, { inputsConsumed }) => sum + inputsConsumed, 0),
    end: requests.at(-1)?.end,
  }
}

/** Makes the model call take most of the time of a turn. */
const late = (turn: Turn) => Object.assign(turn, { startedAt: turn.startedAt - policy.turnSliceMs })

describe('a turn that has lasted long enough ends', () => {
  test('a long turn ends after a number of model calls and their tools', async () => {
    const seen = await oneTurn({ turnSliceSteps: 1 }, 1, () => call('look'))
    expect(seen).toMatchObject({ done: ['model'], received: 1, end: { wait: 'again' } })
  })

  test('a long turn ends after a time, before the calls of the reply are run', async () => {
    const seen = await oneTurn({}, 1, (turn) => {
      late(turn)
      return call('look')
    })
    expect(seen).toMatchObject({ done: ['model'], received: 1, end: { wait: 'again' } })
  })

  test('a turn makes its first step even if reading its history took all of its time', async () => {
    expect(await oneTurn({ turnSliceMs: -1 }, 1, () => say('done'))).toMatchObject({ received: 1 })
  })

  test('a long turn ends between two runs, before the next input is received', async () => {
    const seen = await oneTurn({}, 2, (turn) => {
      late(turn)
      return say('done')
    })
    expect(seen).toMatchObject({ done: ['model'], received: 1, end: { wait: 'again' } })
  })
})

test('a turn that ends with a retry names the wait', async () => {
  vi.spyOn(Math, 'random').mockReturnValue(1)
  const seen = await oneTurn({}, 1, () => new TransientError('busy', { retryAfterMs: 60_000 }))
  const retryMs = 60_000 + policy.modelBackoffMs
  expect(seen).toMatchObject({ done: ['model'], end: { wait: 'retry', retryMs } })
})
