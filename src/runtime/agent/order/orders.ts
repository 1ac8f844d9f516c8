/**
 * Duty: do what somebody outside asked of this agent itself: compact its conversation, or run on what is there.
 * ORDERS-1 An order is recorded as received before anything is done for it, and what came of it is recorded once. If the node dies in between, the next
 *          turn finds the order in the history and does it again.
 */
import { InputError } from '../../../core/errors.ts'
import { runProblem } from '../../../core/history/run/run-problem.ts'
import type { Mail } from '../../../core/worker/message/message.ts'
import type { Order } from '../../../core/worker/message/order.ts'
import { goOn } from '../../../core/worker/wait.ts'
import { mayCall } from '../../turn/permit.ts'
import type { AgentTurn, Pause } from '../agent-turn.ts'
import { configure } from './configure.ts'

/** Between runs: the head of the inbox is an order. */
export async function obey(agentTurn: AgentTurn, mail: Mail, order: Order): Promise<Pause | null> {
  const { compactor, inbox, journal } = agentTurn
  if (order.do === 'run') {
    runOnHistory(agentTurn, mail)
    inbox.take(mail)
    return null
  }
  if (order.do === 'configure') return configure(agentTurn, mail, order)
  // One summary at a time: this one stands on the one before.
  if (compactor.isPending) await compactor.finish()
  if (agentTurn.isOver) return null
  journal.add([journal.entry('ordered', { message: mail.message.id, order })], { inputsConsumed: 1 })
  inbox.take(mail)
  return goOnWithOrder(agentTurn)
}

/** Begins what an order in the history asks for, if it was not done yet. Returns null if the turn goes on. */
export function goOnWithOrder({ compactor, journal, turn }: AgentTurn): Pause | null {
  const { owedOrder } = journal.container
  if (owedOrder === null || compactor.isPending) return null
  if (!mayCall(turn)) return { for: goOn }
  compactor.obey(owedOrder)
  return null
}

function runOnHistory(agentTurn: AgentTurn, { message: { id } }: Mail): void {
  const { end, journal, turn, who } = agentTurn
  agentTurn.begunRun = journal.position.run
  const entries = [journal.entry('ordered', { message: id, order: { do: 'run' } })]
  journal.machine.apply('inputReceived')
  journal.tally = { ...journal.tally, iterations: 0 }
  const problem = runProblem(journal.container.history)
  turn.flush()
  if (problem !== null) {
    journal.machine.apply('limitReached')
    const parts = { inputsConsumed: 1, notes: [['run.started'] as const] }
    end.fail(new InputError(`${who} cannot run on its history: ${problem}`), 'runtime', 1, { entries, parts })
    return
  }
  journal.machine.apply('requestSent')
  const position = { open: true, attempt: 0, retrying: '' }
  journal.add(entries, { inputsConsumed: 1, failure: null, position, notes: [['run.started']] }, { lazy: true })
}
