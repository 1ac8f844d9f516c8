/** What an agent's journal says of a session's use while the steps of its turn are recorded, or declined. */
import { expect, test } from 'vitest'
import { defaultSpending } from '../../../src/core/policy.ts'
import { HistoryCache } from '../../../src/runtime/agent/history-cache.ts'
import { Journal } from '../../../src/runtime/agent/journal.ts'
import { loadHistory } from '../../../src/runtime/agent/load.ts'
import { Turn } from '../../../src/runtime/turn/turn.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { assignmentByHand, HeldStore } from '../support/held-store.ts'

test('a request that is counted while a step is on its way still counts when Redis declines that step, and can be taken back then (TURN-4)', async () => {
  const store = new HeldStore()
  const spending = { spent: { modelCalls: 5, tokens: 0, toolCalls: 0 }, allowed: defaultSpending }
  const turn = new Turn(assignmentByHand({ spending }), store.host())
  const journal = new Journal(turn, await loadHistory(turn, new HistoryCache(0)))
  journal.countRequest()
  const proposed = journal.propose([journal.entry('askWithdrawn', { toolCallId: 'c', ask: 'a' })], {})
  const commit = await waitUntil('the step is on its way', () => store.commits[0])
  // The step holds it, and may be recorded by now.
  journal.takeBackRequest()
  expect(journal.sessionSpent).toMatchObject({ modelCalls: 6 })
  commit.answer({ kind: 'refused', refusals: [{ reason: 'ask_ended', id: 'a' }] })
  expect(await proposed).toBeInstanceOf(Error)
  expect(journal.sessionSpent).toMatchObject({ modelCalls: 6 })
  journal.takeBackRequest()
  expect(journal.sessionSpent).toMatchObject({ modelCalls: 5 })
})
