/** A message that interrupts calls at the very moment at which a person answers what they wait for (STEERED-2). */
import { expect, test } from 'vitest'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import type { TurnStore } from '../../../../src/core/ports/ports.ts'
import { type ScriptedReply, say } from '../../../../src/models/local/scripted-model.ts'
import { changedStore } from '../../../support/changed-store.ts'
import { expectSound, look, openAsks, pay, resultOf, tools } from '../../../support/person/approvals.ts'
import { recordedModel } from '../../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../../support/test-troupe.ts'
import { messageOf } from '../support/steered-agent.ts'

test('a call that is approved when a message interrupts it stays open in the state of its run, also beside a summary', async () => {
  const made = tools()
  const answered = Promise.withResolvers<void>()
  const states: string[] = []
  const aroundTurns = (turns: TurnStore): TurnStore =>
    changedStore(turns, {
      async commit(request) {
        const [ask] = request.withdraws
        if (ask !== undefined && states.length === 0) {
          await troupe.client.asks.answer(ask, 'approve')
          answered.resolve()
        }
        if (request.entries.some((json) => json.includes('"type":"compacted"'))) states.push(request.runState)
        return turns.commit(request)
      },
    })
  const counted = (reply: ScriptedReply, inputTokens: number) => ({ ...reply, usage: { inputTokens, outputTokens: 0 } })
  const read = [100, 200, 900].map((tokens) => counted(look(`look-${tokens}`), tokens))
  const model = recordedModel('test/m', [...read, pay(5), say('Done.')])
  const writer = recordedModel('test/writer', async () => {
    await answered.promise
    return say('It looked.')
  })
  const compaction = { window: 1_000, keep: 2, model: writer, clearResults: false }
  const agent = defineWorker({ instructions: 'x', model, tools: made.tools, compaction })
  await using troupe = await TestTroupe.connect()
  await troupe.startNode({ agent }, { aroundTurns })
  const session = await troupe.create('agent', 'go')
  await openAsks(troupe)
  await messageOf(session, 'do not pay', 'interrupt')
  expect(await resultOf(session)).toMatchObject({ status: 'completed', value: { text: 'Done.' } })
  expect(made.ledger).not.toContain('paid 5')
  expect(states).toEqual(['AwaitingToolApproval'])
  await expectSound(troupe)
})
