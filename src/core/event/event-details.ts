/**
 * Duty: what each type of event tells, for whoever follows a session in TypeScript, and for whoever writes one here. docs/reference/events.md says when.
 * Stored events are for ever: a field that is added is optional, since those of before do not have it.
 */
import type { FinishReason } from '../history/chat-message.ts'
import type { Failure } from '../worker/failure.ts'
import type { Message } from '../worker/message.ts'

// Types and no interfaces: only they can be taken for details of which nobody has looked at the type.
type RetryDetails = {
  readonly run: number
  /** The try that failed, from 1. */
  readonly attempt: number
  /** Milliseconds until the next one. */
  readonly retryMs: number
  readonly failure: Failure
}

type CallDetails = {
  readonly toolCallId: string
  readonly toolName: string
}

type DeltaDetails = {
  /** What was added. */
  readonly text: string
  readonly iteration: number
}

type Nothing = Readonly<Record<string, never>>

export interface EventDetails {
  readonly 'session.created': { readonly kind: string; readonly name?: string; readonly mode?: 'conversation' }
  readonly 'session.completed': Nothing
  readonly 'session.failed': Nothing
  readonly 'session.limited': { readonly modelCalls?: number; readonly tokens?: number }
  readonly 'session.cancelRequested': { readonly reason: string }
  readonly 'session.cancelled': Nothing
  readonly 'worker.spawned': {
    readonly id: string
    readonly kind: string
    readonly name: string
    readonly parent: string
    readonly detached?: boolean
  }
  readonly 'worker.stateChanged': Nothing
  readonly 'worker.failed': { readonly run: number; readonly failure: Failure }
  readonly 'worker.cancelled': { readonly run?: number }
  readonly 'message.accepted': { readonly kind: 'input' | 'timer'; readonly id?: string }
  readonly 'message.consumed': { readonly kind: Message['kind']; readonly from?: string }
  readonly 'message.deadLettered': { readonly id: string }
  readonly 'message.redriven': { readonly letter: string }
  readonly 'turn.parked': Nothing
  readonly 'turn.retried': RetryDetails
  readonly 'run.started': Nothing
  /** Of a job's own run, with which its session may end, the number unless it is 1, and the value where it is small. */
  readonly 'run.completed': { readonly run?: number; readonly value?: unknown }
  readonly 'model.replied': {
    readonly model: string
    readonly iteration: number
    readonly calls: number
    readonly inputTokens: number
    readonly outputTokens: number
    readonly finishReason?: FinishReason
  }
  readonly 'model.blanked': { readonly model: string; readonly blanks: number; readonly finishReason: FinishReason }
  readonly 'tool.started': CallDetails
  readonly 'tool.succeeded': CallDetails & { readonly ms?: number }
  readonly 'tool.failed': CallDetails & { readonly ms?: number }
  readonly 'tool.unknown': CallDetails
  readonly 'events.trimmed': { readonly after: string }
  readonly 'text.delta': DeltaDetails
  readonly 'reasoning.delta': DeltaDetails
  readonly 'tool.progress': CallDetails & { /** JSON. */ readonly value: unknown }
}
