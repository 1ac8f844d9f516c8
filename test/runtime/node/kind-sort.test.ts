/** A release that makes an agent of a handler, or a handler of an agent, under workers that live. */
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { defineWorker, type WorkerDefinition } from '../../../src/core/definition/define-worker.ts'
import { say, scriptedModel } from '../../../src/models/local/scripted-model.ts'
import { openModels } from '../../../src/models/model-source.ts'
import { KindMaker } from '../../../src/runtime/node/kind-maker.ts'
import { Turn } from '../../../src/runtime/turn/turn.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitResult } from '../../support/time/await-session.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { assignmentByHand, HeldStore } from '../support/held-store.ts'

const agent = (answer: string) =>
  defineWorker({ instructions: 'Answer.', model: scriptedModel('test/m', () => say(answer)) })
const counter = defineWorker<{ n: number }>({
  initial: { n: 0 },
  receive(_, self) {
    self.setState({ n: self.state.n + 1 })
    self.reply(self.state.n)
  },
})
/** Its first run is in progress, and has no state. */
const asker = defineWorker({
  receive(message, self) {
    if (message.kind === 'input' && message.value === 'go') self.ask('Go on?')
    else self.reply(message.kind)
  },
})

const maker = new KindMaker(openModels({ env: {} }))

const changes: [string, WorkerDefinition, WorkerDefinition, unknown][] = [
  ['a handler with a state that became an agent', counter, agent('new'), 2],
  ['a handler in the middle of a run that became an agent', asker, agent('new'), 'answer'],
  ['an agent that became a handler', agent('old'), counter, { text: 'old' }],
]

/** Its worker waits on a node that hosts the kind as the other sort. */
async function waitingFor(troupe: TestTroupe, before: WorkerDefinition, after: WorkerDefinition, retryMs: number) {
  const old = await troupe.startNode({ changes: before })
  const session = await troupe.create('changes', 'go', { keepOpen: true })
  const atRest = async () => ['parked', 'idle'].includes((await session.root.report()).status)
  await waitUntil('it has received its input', async () => (await session.root.report()).historyLength > 0 && atRest())
  await old.stop()

  const said: string[] = []
  const logger = pino({}, { write: (line: string) => void said.push(line) })
  const node = await troupe.startNode({ changes: after }, { logger, policy: { retryBackoffMsMax: retryMs } })
  const [ask] = await session.asks()
  if (ask) await troupe.client.asks.answer(ask.id, 'yes')
  else await session.root.send('more')
  await waitUntil('it is left as it is', () => said.some((line) => line.includes('it waits for a node that hosts')))
  return { session, node, run: ask ? 1 : 2 }
}

test.each(changes)('%s keeps its messages until its kind is as before', async (_, before, after, value) => {
  await using troupe = await TestTroupe.connect()
  const { session, node, run } = await waitingFor(troupe, before, after, 50)
  await node.stop()

  await troupe.startNode({ changes: before })
  expect(await awaitResult(session, { run })).toMatchObject({ value })
  await expectInvariants(troupe.redis, troupe.namespace)
})

test.each(changes)('%s ends with a cancel, and nothing of it waits any more', async (_, before, after) => {
  await using troupe = await TestTroupe.connect()
  const { session, run } = await waitingFor(troupe, before, after, 60_000)
  await session.cancel('enough')
  expect(await awaitResult(session, { run })).toMatchObject({ status: 'cancelled' })
  await expectInvariants(troupe.redis, troupe.namespace)
})

test('a cancel that comes while such a turn is about to wait ends its run', async () => {
  const store = new HeldStore()
  const turn = new Turn(assignmentByHand({ stateJson: 'a 1 1' }), store.host())
  void maker.make('echo', counter).behaviour(turn)
  await waitUntil('it is about to wait', () => store.commits.length === 1)
  store.commits[0]?.answer({ kind: 'cancelled' })
  await waitUntil('its run is about to end', () => store.commits.length === 2)
  expect(store.commits[1]?.request).toMatchObject({ outcome: 'cancelled' })
})

test.each(['cancelled', 'poison'] as const)(
  'an agent does not write over the state of a handler (%s)',
  async (purpose) => {
    const store = new HeldStore()
    const turn = new Turn(assignmentByHand({ stateJson: '{"n":1}', purpose }), store.host())
    void maker.make('echo', agent('new')).behaviour(turn)
    await waitUntil('it is about to commit', () => store.commits.length === 1)
    const { outcome, dead, stateJson } = store.commits[0]?.request ?? {}
    expect([outcome, dead, stateJson]).toEqual([
      purpose === 'cancelled' ? 'cancelled' : undefined,
      undefined,
      undefined,
    ])
  },
)
