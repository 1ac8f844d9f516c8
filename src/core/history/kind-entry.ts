/** Duty: define what the history holds of code of an agent kind that steers its loop: resolvers, hooks, recipes. Their heads are those of all entries. */
import type { Json, ToolOutput, ToolStatus, UserBlock } from './chat/chat-message.ts'
import type { CallDecision } from './run/call-decision.ts'

/**
 * Code of the kind decided about these calls before they ran: a resolver of its tools, or a hook. Each call stands here once, even one that is left
 * as it is.
 */
export interface CallsDecided {
  readonly type: 'callsDecided'
  readonly calls: readonly CallDecision[]
}

/** A hook of the kind was asked, and this is what it decided. The text that it gave to the model follows, as a nudge. */
export interface Hooked {
  readonly type: 'hooked'
  readonly hook: 'spawn' | 'prompt' | 'toolAfter' | 'stop'
  readonly did: 'continue' | 'context' | 'transform' | 'abort' | 'suspend' | 'goOn'
  /** The processor, and how long it took. */
  readonly by?: string
  readonly ms?: number
  /** What prompts hold in place of the input. */
  readonly content?: readonly UserBlock[]
  /** Why the run ends. */
  readonly reason?: string
  /** Id of the ask for which the run waits. */
  readonly ask?: string
}

/** A step of a recipe is about to run a `once` tool. `id` names the step within the call. */
export interface SubCallStarted {
  readonly type: 'subCallStarted'
  readonly toolCallId: string
  readonly id: string
  readonly toolName: string
}

/** A step of a recipe has ended. It is not run again. */
export interface SubCall {
  readonly type: 'subCall'
  /** Set if its tool is of effect `once`. */
  readonly once?: true
  readonly toolCallId: string
  readonly id: string
  readonly toolName: string
  readonly status: ToolStatus
  readonly output: ToolOutput
  readonly facts?: Readonly<Record<string, Json>>
}
