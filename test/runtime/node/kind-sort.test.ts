/** A release that makes an agent of a handler, or a handler of an agent, under workers that live. */
import { pino } from 'pino'
import { expect, test } from 'vitest'
import { defineWorker, type WorkerDefinition } from '../../../src/core/definition/define-worker.ts'
import { say, scriptedModel } from '../../../src/models/local/scripted-model.ts'
import { expectInvariants } from '../../support/fault/oracle.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

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

const changes: [string, WorkerDefinition, WorkerDefinition, unknown][] = [
  ['a handler with a state that became an agent', counter, agent('new'), 2],
  ['a handler in the middle of a run that became an agent', asker, agent('new'), 'answer'],
  ['an agent that became a handler', agent('old'), counter, { text: 'old' }],
]

test.each(changes)('%s keeps its messages until its kind is as before', async (_, before, after, value) => {
  await using troupe = await TestTroupe.connect()
  const old = await troupe.startNode({ changes: before })
  const session = await troupe.create('changes', 'go', { keepOpen: true })
  const atRest = async () => ['parked', 'idle'].includes((await session.root.report()).status)
  await waitUntil('it has received its input', async () => (await session.root.report()).historyLength > 0 && atRest())
  await old.stop()

  const said: string[] = []
  const logger = pino({}, { write: (line: string) => void said.push(line) })
  const other = await troupe.startNode({ changes: after }, { logger, policy: { retryBackoffMsMax: 50 } })
  const [ask] = await session.asks()
  if (ask) await troupe.client.asks.answer(ask.id, 'yes')
  else await session.root.send('more')
  await waitUntil('it is left as it is', () => said.some((line) => line.includes('it waits for a node that hosts')))
  await other.stop()

  await troupe.startNode({ changes: before })
  const run = ask ? 1 : 2
  expect(await session.result({ run, signal: AbortSignal.timeout(20_000) })).toMatchObject({ value })
  await expectInvariants(troupe.redis, troupe.namespace)
})
