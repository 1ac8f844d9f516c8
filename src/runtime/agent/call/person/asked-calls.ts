/**
 * Duty: carry out the calls of one reply that ask a person, and turn the answers into their results.
 * Does not own: the form of the tool (ask-person.ts), when an ask ends (the scripts).
 * ASKED-1 An ask is opened by the commit that records which call opened it. A call that has opened an ask never opens another one in the
 *         same attempt of its run, whatever its kind may do by then.
 * ASKED-2 An answer is recorded, and becomes the result of its call, by the commit that takes it from the mailbox. An approval is recorded so
 *         too, and its call then runs (approvals.ts).
 */
import { InputError } from '../../../../core/errors.ts'
import type { ToolCallBlock } from '../../../../core/history/chat/chat-message.ts'
import type { Entry } from '../../../../core/history/entry.ts'
import type { Mail } from '../../../../core/worker/message/message.ts'
import { forSignal } from '../../../../core/worker/wait.ts'
import type { AgentTurn, Pause } from '../../agent-turn.ts'
import type { Journal } from '../../journal.ts'
import { editedOutput } from './approval-words.ts'
import { type AskInput, answerOutput, askOfCall } from './ask-person.ts'

export function beginAsk(journal: Journal, { toolCallId }: ToolCallBlock, input: AskInput): void {
  const { container, position, turn } = journal
  const { workerId } = turn.assignment
  const { retries } = container.run
  const { order, note } = askOfCall(input, { workerId, run: position.run, toolCallId, retries })
  journal.add([journal.entry('asked', { toolCallId, asks: [note] })], {
    asks: [order],
    position: { signalsOpen: position.signalsOpen + 1 },
    notes: [['ask.opened', note]],
  })
}

/**
 * Takes the answers that have arrived, and signals for which nothing waits: one that stayed would end each wait at once. Returns false if the run has
 * failed: an answer that cannot be read fails it, because nothing else would ever answer its call.
 */
export function takeAnswers(agentTurn: AgentTurn): boolean {
  const taken = agentTurn.inbox.takeSignals()
  return taken.length === 0 || record(agentTurn, taken)
}

/** What the worker waits for if some asks of its calls are open, otherwise null. */
export function waitForAnswers({ container }: Journal): Pause | null {
  const { asked, calls } = container.pending
  return calls.some(({ toolCallId }) => asked.has(toolCallId)) ? { for: forSignal } : null
}

/** Returns false if the run has failed. */
function record({ journal, end, who }: AgentTurn, taken: readonly Mail[]): boolean {
  const { position, turn, container } = journal
  const { asked, approvals, calls } = container.pending
  const open = new Map(calls.flatMap((call) => (asked.get(call.toolCallId) ?? []).map(({ id }) => [id, call] as const)))
  const toApprove = new Set(approvals.open.map(({ askId }) => askId))
  const { toolOutputBytesMax } = turn.host.policy
  const entries: Entry[] = []
  let answered = 0
  for (const { message, malformed } of taken) {
    if (malformed !== undefined) {
      journal.machine.apply('toolRefused')
      end.fail(new InputError(`an answer to ${who} cannot be read: ${malformed}`), 'runtime', 1)
      return false
    }
    const call = open.get(message.id)
    if (
      message.kind !== 'answer' ||
      (call === undefined && !toApprove.has(message.id) && message.id !== container.run.openAsk)
    ) {
      journal.noteIgnored(`${message.kind} ${message.id}, for which nothing waits`)
      continue
    }
    answered++
    entries.push(journal.entry('received', { message }))
    if (call === undefined) continue
    open.delete(message.id)
    const { toolCallId, toolName } = call
    const id = journal.nextId(entries.length)
    const own = answerOutput(message, toolOutputBytesMax)
    const output = editedOutput(approvals.get(toolCallId), own, toolOutputBytesMax)
    entries.push(journal.entry('toolResult', { id, toolCallId, toolName, status: 'ok', output }))
  }
  journal.add(entries, {
    signalsConsumed: taken.length,
    position: { signalsOpen: Math.max(0, position.signalsOpen - answered) },
    notes: entries.flatMap(({ type }) =>
      type === 'received' ? [['message.consumed', { kind: 'answer' }] as const] : [],
    ),
  })
  return true
}
