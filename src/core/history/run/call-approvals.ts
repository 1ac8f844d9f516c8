/**
 * Duty: fold how the approvals of tool calls stand from the entries of a history.
 * CALL-APPROVALS-1 An answer counts once, for the newest ask of its call. An answer to an ask before that one decides nothing.
 * CALL-APPROVALS-2 A model may use the id of a call again once the turn of that call was undone. A decision about the earlier call does not hold for
 * the new one.
 */
import { readDecision } from '../../worker/ask/approval-ask.ts'
import type { ApprovalStatus } from '../../worker/ask/approval-status.ts'
import type { AnswerMessage } from '../../worker/message/message.ts'
import { readChatMessage } from '../chat/chat-codec.ts'
import { type Json, type ToolResultMessage, toolCallsOf } from '../chat/chat-message.ts'
import type { AskedEntry, AskWithdrawnEntry, Entry } from '../entry.ts'

export interface CallApproval {
  readonly status: ApprovalStatus
  /** The newest ask about the call. Null if nobody was asked. */
  readonly askId: string | null
  /** How often it was asked. */
  readonly asks: number
  /** The hash of what was approved. */
  readonly hash?: string | undefined
  /** The arguments that a person wrote in place of those of the model. */
  readonly arguments?: Json | undefined
  readonly by?: string | null
  readonly reason?: string | null
  /** Set if nobody answered in time. fail: the run fails because of it. */
  readonly expired?: 'deny' | 'fail'
  /** It needed no answer any more, for example because somebody trusted its tool in the meantime. */
  readonly isReleased?: true
}

/** A call has one ask at a time, of one sort. */
export function isForApproval({ asks }: AskedEntry): boolean {
  return asks[0]?.sort === 'approval'
}

export class CallApprovals {
  readonly #calls: Map<string, CallApproval>

  constructor(calls: Iterable<readonly [string, CallApproval]> = []) {
    this.#calls = new Map(calls)
  }

  get(toolCallId: string): CallApproval | undefined {
    return this.#calls.get(toolCallId)
  }

  /** The approvals that nobody has decided about. */
  get open(): CallApproval[] {
    return [...this.#calls.values()].filter(({ status }) => status === 'pending')
  }

  get size(): number {
    return this.#calls.size
  }

  entries(): Iterable<[string, CallApproval]> {
    return this.#calls.entries()
  }

  /** Without these calls: they begin anew. */
  without(toolCallIds: ReadonlySet<string>): CallApprovals {
    return new CallApprovals([...this.#calls].filter(([id]) => !toolCallIds.has(id)))
  }

  asked({ toolCallId, asks }: AskedEntry): void {
    const [ask] = asks
    if (ask?.sort !== 'approval') return
    const before = this.#calls.get(toolCallId)?.asks ?? 0
    this.#calls.set(toolCallId, { status: 'pending', askId: ask.id, asks: before + 1 })
  }

  answered({ id, status, value, by, reason }: AnswerMessage): void {
    const found = [...this.#calls].find(([, { askId }]) => askId === id)
    if (found === undefined || found[1].status !== 'pending') return
    const [toolCallId, approval] = found
    if (status === 'expired') {
      const expired = value === 'fail' ? 'fail' : 'deny'
      this.#calls.set(toolCallId, { ...approval, status: 'denied', expired, by: null, reason: null })
      return
    }
    // A value that is no decision approves nothing.
    const decision = readDecision(value)
    const approves = decision?.decision === 'approve'
    this.#calls.set(toolCallId, {
      ...approval,
      by,
      reason,
      status: approves ? 'approved' : 'denied',
      ...(approves && { hash: decision.hash, arguments: decision.arguments }),
    })
  }

  withdrawn({ toolCallId }: AskWithdrawnEntry): void {
    const approval = this.#calls.get(toolCallId)
    if (approval?.status === 'pending')
      this.#calls.set(toolCallId, { ...approval, status: 'approved', isReleased: true })
  }

  /** The call did not run: it was denied, or a rule forbids it by now, whatever was asked about it before. */
  refused({ toolCallId, approval: status }: ToolResultMessage): void {
    if (status === undefined) return
    this.#calls.set(toolCallId, { askId: null, asks: 0, ...this.#calls.get(toolCallId), status })
  }

  /** Nothing was decided yet about the calls of a new reply. */
  #replied(entry: Entry): void {
    const reply = readChatMessage(entry)
    if (reply?.type === 'assistant') for (const { toolCallId } of toolCallsOf(reply)) this.#calls.delete(toolCallId)
  }

  apply(entry: Entry): void {
    if (entry.type === 'assistant') this.#replied(entry)
    else if (entry.type === 'asked') this.asked(entry)
    else if (entry.type === 'received' && entry.message.kind === 'answer') this.answered(entry.message)
    else if (entry.type === 'askWithdrawn') this.withdrawn(entry)
    else if (entry.type === 'toolResult') this.refused(entry)
  }
}

/** How the approval of each call stands, by the id of the call. Calls that needed no approval are missing. */
export function approvalsOf(entries: Iterable<Entry>): Map<string, CallApproval> {
  const approvals = new CallApprovals()
  for (const entry of entries) approvals.apply(entry)
  return new Map(approvals.entries())
}
