/** Duty: define what the newest reply asked for and is not answered yet. */
import type { ResultMessage } from '../../worker/message/message.ts'
import type { ToolCallBlock } from '../chat/chat-message.ts'
import type { AskedEntry, DelegatedEntry } from '../entry.ts'
import type { CallApprovals } from './call-approvals.ts'
import type { CallDecision } from './call-decision.ts'
import type { SubCalls } from './reply-calls.ts'

/** What the newest assistant message asked for, and how far it is carried out. */
export interface PendingTurn {
  /** Calls without a result, in call order. */
  readonly calls: readonly ToolCallBlock[]
  /** `once` calls that are recorded as started. */
  readonly started: ReadonlySet<string>
  /** Calls that started children. */
  readonly delegated: ReadonlyMap<string, DelegatedEntry['spawned']>
  /** Calls that opened asks. */
  readonly asked: ReadonlyMap<string, AskedEntry['asks']>
  /** Calls of which a person was asked whether they may run. */
  readonly approvals: CallApprovals
  /** What code of the kind decided about calls before they run. */
  readonly decided: ReadonlyMap<string, CallDecision>
  /** Steps of recipes that have begun. */
  readonly subCalls: SubCalls
  /** Results of these children that are recorded so far, by the number of the spawn. */
  readonly childResults: ReadonlyMap<number, ResultMessage>
}
