/**
 * Duty: keep what is recorded of the calls of the newest reply, until all of them have their results. Only the container changes it
 * (../context-container.ts).
 */
import type { AnswerMessage, ResultMessage } from '../../worker/message/message.ts'
import type { AssistantMessage, ToolResultMessage } from '../chat/chat-message.ts'
import type { AskedEntry, DelegatedEntry, Entry, SubCallEntry, SubCallStartedEntry } from '../entry.ts'
import { CallApprovals, isForApproval } from './call-approvals.ts'
import type { CallDecision } from './call-decision.ts'

/** The approvals of nearly all replies. Nothing is added to them. */
const noApprovals = new CallApprovals()
const noSubCalls: SubCalls = new Map()
const noDecisions: ReadonlyMap<string, CallDecision> = new Map()

/** The entries that are the newest reply, or are about its calls or their results. */
type CallEntry = Extract<
  Entry,
  {
    readonly type:
      | 'toolStarted'
      | 'delegated'
      | 'asked'
      | 'askWithdrawn'
      | 'attemptFailed'
      | 'callsDecided'
      | 'subCallStarted'
      | 'subCall'
  }
>

/** The newest record of each step, by the ids of calls and of their steps. */
export type SubCalls = ReadonlyMap<string, ReadonlyMap<string, SubCallStartedEntry | SubCallEntry>>

export class ReplyCalls {
  /** Null before the first reply of a run. */
  readonly reply: AssistantMessage | null
  started = new Set<string>()
  delegated = new Map<string, DelegatedEntry['spawned']>()
  asked = new Map<string, AskedEntry['asks']>()
  approvals = noApprovals
  decided = noDecisions
  subCalls = noSubCalls
  childResults = new Map<number, ResultMessage>()
  results: ToolResultMessage[] = []

  constructor(reply: AssistantMessage | null) {
    this.reply = reply
  }

  apply(entry: CallEntry): void {
    switch (entry.type) {
      case 'toolStarted':
        this.started.add(entry.toolCallId)
        return
      case 'delegated':
        this.delegated.set(entry.toolCallId, entry.spawned)
        return
      case 'asked':
        this.#asked(entry)
        return
      case 'askWithdrawn':
        this.approvals.withdrawn(entry)
        return
      case 'attemptFailed':
        this.#tookNoEffect(entry.toolCallIds ?? [])
        return
      case 'subCallStarted':
      case 'subCall':
        this.subCalls = new Map(this.subCalls).set(
          entry.toolCallId,
          new Map(this.subCalls.get(entry.toolCallId)).set(entry.id, entry),
        )
        return
      case 'callsDecided':
        this.decided = new Map([...this.decided, ...entry.calls.map((one) => [one.toolCallId, one] as const)])
    }
  }

  /** Notes that these calls or steps took no effect. */
  #tookNoEffect(toolCallIds: readonly string[]): void {
    for (const id of toolCallIds) this.started.delete(id)
    if (this.subCalls.size === 0) return
    const given = new Set(toolCallIds)
    this.subCalls = new Map(
      [...this.subCalls].map(([call, steps]) => [
        call,
        new Map([...steps].filter(([id]) => !given.has(`${call}/${id}`))),
      ]),
    )
  }

  #asked(entry: AskedEntry): void {
    if (!isForApproval(entry)) {
      this.asked.set(entry.toolCallId, entry.asks)
      return
    }
    if (this.approvals === noApprovals) this.approvals = new CallApprovals()
    this.approvals.asked(entry)
  }

  personAnswered(message: AnswerMessage): void {
    this.approvals.answered(message)
  }

  /** Names of the facts that a child got. */
  factsGiven(call: number): readonly string[] {
    return [...this.delegated.values()].flat().find((child) => child.call === call)?.facts ?? []
  }

  answered(result: ToolResultMessage): void {
    this.started.delete(result.toolCallId)
    this.results.push(result)
  }

  /** The errors of these calls, one line each, in an order that does not depend on which came first. */
  get errors(): string {
    return this.results
      .filter(({ status }) => status === 'error')
      .map(({ toolName, output }) => `${toolName}: ${JSON.stringify(output.value)}`)
      .sort()
      .join('\n')
  }

  /** The same calls, but nothing is known of these: they begin anew. */
  without(again: ReadonlySet<string>): ReplyCalls {
    const others = <Value>(map: ReadonlyMap<string, Value>) => new Map([...map].filter(([id]) => !again.has(id)))
    const calls = new ReplyCalls(this.reply)
    calls.started = new Set([...this.started].filter((id) => !again.has(id)))
    calls.delegated = this.delegated
    calls.asked = others(this.asked)
    calls.approvals = this.approvals.without(again)
    calls.decided = others(this.decided)
    calls.subCalls = new Map([...this.subCalls].map(([id, steps]) => [id, again.has(id) ? ended(steps) : steps]))
    calls.childResults = this.childResults
    calls.results = this.results.filter(({ toolCallId }) => !again.has(toolCallId))
    return calls
  }
}

/** A call that begins anew goes on after the steps that have ended. */
function ended(steps: ReadonlyMap<string, SubCallStartedEntry | SubCallEntry>) {
  return new Map([...steps].filter(([, { type }]) => type === 'subCall'))
}
