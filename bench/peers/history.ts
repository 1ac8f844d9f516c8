/** Duty: what a hand-written agent asks of its history, whichever way that is kept. */
import type { AgentMessage } from '../agent-script.ts'

export interface History {
  /** All messages that are recorded. */
  readonly messages: readonly AgentMessage[]
  /** Resolves once Redis has the message. `endsRun`: nothing follows it. */
  append(message: AgentMessage, endsRun?: 'endsRun'): Promise<void>
}
