/**
 * Duty: carry out the calls of one reply that ask a person, and turn the answers into their results.
 * Does not own: the form of the tool (ask-person.ts), when an ask ends (the scripts).
 * ASKED-1 An ask is opened by the commit that records which call opened it. A call that has opened an ask never opens another one in the
 *         same attempt of its run, whatever its kind may do by then.
 * ASKED-2 An answer is recorded, and becomes the result of its call, by the commit that takes it from the mailbox.
 */
import { InputError } from '../../../core/errors.ts'
import type { ToolCallBlock } from '../../../core/history/chat-message.ts'
import type { Entry } from '../../../core/history/entry.ts'
import type { Mail } from '../../../core/worker/message.ts'
import { forSignal } from '../../../core/worker/wait.ts'
import type { AgentTurn, Pause } from '../agent-turn.ts'
import type { Journal } from '../journal.ts'
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
 * Takes the answers that have arrived. Returns what the worker waits for if some have not, otherwise null. An answer that cannot be read fails
 * the run: nothing else would ever answer its call.
 */
export function collectAnswers(agentTurn: AgentTurn): Pause | null {
  const { journal, inbox } = agentTurn
  const { asked, calls } = journal.container.pending
  if (asked.size === 0) return null
  const open = new Map(calls.flatMap((call) => (asked.get(call.toolCallId) ?? []).map(({ id }) => [id, call] as const)))
  const taken = inbox.takeSignals()
  if (taken.length > 0 && !record(agentTurn, taken, open)) return null
  return open.size === 0 ? null : { for: forSignal }
}

/** Takes from `open` what is answered. Returns false if the run has failed. */
function record({ journal, end, who }: AgentTurn, taken: readonly Mail[], open: Map<string, ToolCallBlock>): boolean {
  const { position, turn } = journal
  const { toolOutputBytesMax } = turn.host.policy
  const entries: Entry[] = []
  for (const { message, malformed } of taken) {
    if (malformed !== undefined) {
      journal.machine.apply('toolRefused')
      end.fail(new InputError(`an answer to ${who} cannot be read: ${malformed}`), 'runtime', 1)
      return false
    }
    const call = open.get(message.id)
    if (message.kind !== 'answer' || call === undefined) {
      journal.noteIgnored(`${message.kind} ${message.id}, for which nothing waits`)
      continue
    }
    open.delete(message.id)
    const { toolCallId, toolName } = call
    const id = journal.nextId(entries.length + 1)
    const output = answerOutput(message, toolOutputBytesMax)
    entries.push(
      journal.entry('received', { message }),
      journal.entry('toolResult', { id, toolCallId, toolName, status: 'ok', output }),
    )
  }
  journal.add(entries, {
    signalsConsumed: taken.length,
    position: { signalsOpen: Math.max(0, position.signalsOpen - entries.length / 2) },
    notes: entries.flatMap(({ type }) =>
      type === 'received' ? [['message.consumed', { kind: 'answer' }] as const] : [],
    ),
  })
  return true
}
