/**
 * Duty: say which details each type of event has, for code that follows a session and for code that writes events. docs/reference/events.md says when
 * each event is written.
 * Stored events are kept: a field that is added later must be optional, because older events do not have it.
 */

import type { IterationDecision } from '../definition/agent/iteration-context.ts'
import type { CallSettings } from '../definition/tool/call-settings.ts'
import type { FinishReason } from '../history/chat/chat-message.ts'
import type { AskNote, ContextChange } from '../history/entry.ts'
import type { Spending } from '../policy.ts'
import type { ApprovalDecision } from '../worker/ask/approval-ask.ts'
import type { Message } from '../worker/message/message.ts'
import type { Steering } from '../worker/message/steer.ts'
import type { Failure } from '../worker/run/failure.ts'
import type { FineState, RunState } from '../worker/run/run-state.ts'

// These are types and not interfaces, because only types are assignable to Record<string, unknown>.
type WorkDetails = {
  /** For how many milliseconds the code of a handler had worked on the message when this was recorded. Absent: shorter than a timeline can show. */
  readonly ms?: number
}

type RetryDetails = WorkDetails & {
  readonly run: number
  /** The attempt that failed, from 1. */
  readonly attempt: number
  /** Milliseconds until the next attempt. */
  readonly retryMs: number
  readonly failure: Failure
}

type CallDetails = {
  readonly toolCallId: string
  readonly toolName: string
}

type DeltaDetails = {
  /** The text that was added. */
  readonly text: string
  readonly iteration: number
  /** How many characters (as JavaScript counts them) of this sort, text or reasoning, the reply had before. */
  readonly offset: number
  /** Names the model call. A call that is made again has another name, and its text begins again at offset 0. */
  readonly request: string
}

type PauseDetails = { readonly why?: string; readonly by?: string }

type LogLevelName = 'debug' | 'info' | 'warn' | 'error'

type Nothing = Readonly<Record<string, never>>

export interface EventDetails {
  readonly 'session.created': {
    readonly kind: string
    readonly name?: string
    readonly mode?: 'conversation'
    readonly by?: string
    /** How many messages its history began with. */
    readonly messages?: number
    /** The worker has no first message yet, and waits for one. */
    readonly rests?: true
    /** The session that it is a copy of. */
    readonly forkedFrom?: string
    /** The worker whose conversation it began with. */
    readonly branchOf?: string
    /** Set for a copy in which tools with effects are not run. */
    readonly dryRun?: true
  }
  readonly 'session.completed': Nothing
  readonly 'session.failed': Nothing
  readonly 'session.retried': {
    readonly run: number
    /** The step at which the run goes on. */
    readonly step: string
    readonly by?: string
  }
  /** `into`: the id of the copy. */
  readonly 'session.forked': { readonly into: string; readonly dryRun?: true; readonly by?: string }
  readonly 'session.limited': Partial<Spending> & { readonly by?: string }
  /** A new policy, which takes all trust back; or a tool that is trusted from now on. */
  readonly 'session.approvalChanged': { readonly policy?: string; readonly tool?: string; readonly by?: string }
  readonly 'session.paused': PauseDetails
  readonly 'session.resumed': PauseDetails
  readonly 'session.closeRequested': { readonly by?: string }
  readonly 'session.cancelRequested': { readonly reason: string; readonly by?: string }
  readonly 'session.cancelled': Nothing
  readonly 'worker.spawned': {
    readonly id: string
    readonly kind: string
    readonly name: string
    readonly parent: string
    readonly detached?: boolean
  }
  readonly 'worker.failed': { readonly run: number; readonly failure: Failure }
  readonly 'worker.cancelRequested': {
    readonly what: 'worker' | 'run'
    readonly reason: string
    readonly by?: string
  }
  readonly 'worker.cancelled': { readonly run?: number }
  readonly 'ask.opened': AskNote
  readonly 'ask.answered': {
    readonly id: string
    readonly by?: string /** Set for an approval. */
    readonly decision?: ApprovalDecision['decision']
  }
  readonly 'ask.expired': { readonly id: string }
  readonly 'message.accepted': {
    /** order: something is asked of the worker itself. */
    readonly kind: 'input' | 'timer' | 'order'
    readonly id?: string /** The actor of the client that sent it. */
    readonly by?: string
    /** It was sent to steer or to interrupt a run. */
    readonly when?: Steering
  }
  /** `when`: an input that steered or interrupted the run. */
  readonly 'message.consumed': WorkDetails & {
    readonly kind: Message['kind']
    readonly from?: string
    readonly when?: Steering
  }
  readonly 'message.deadLettered': { readonly id: string }
  readonly 'message.redriven': { readonly letter: string; readonly by?: string }
  /** It was sent to a worker of another partition, which did not take it. `why`: as a send within the partition is refused. */
  readonly 'message.undelivered': { readonly to: string; readonly why: string }
  readonly 'turn.retried': RetryDetails
  /** `starts`: the starts that count, since the last commit. `lastWords`: what the node said before it died, if it said anything. */
  readonly 'worker.interrupted': { readonly starts: number; readonly lastWords?: string }
  /** Code of the worker keeps the event loop of its node to itself. */
  readonly 'worker.blocked': { readonly starts: number; readonly lastWords?: string }
  readonly 'run.started': WorkDetails
  /** Only set for a run of a job's root: the number of the run unless it is 1, and the value if it is small. */
  readonly 'run.completed': { readonly run?: number; readonly value?: unknown }
  readonly 'run.warned': { readonly run: number; readonly warning: string }
  readonly 'step.recorded': { readonly name: string }
  readonly 'model.replied': {
    readonly model: string
    readonly iteration: number
    readonly calls: number
    readonly inputTokens: number
    readonly outputTokens: number
    /** What the call cost, in millionths of a dollar. Absent: nobody knows the price of the model. */
    readonly costMicroUsd?: number
    readonly finishReason?: FinishReason
  }
  readonly 'context.compacted': {
    readonly model: string
    /** The prompt in tokens before and after, by count and estimate. */
    readonly tokensBefore: number
    readonly tokensAfter: number
    readonly inputTokens: number
    readonly outputTokens: number
  }
  readonly 'compaction.failed': { readonly model: string; readonly reason: string }
  /** What somebody has set for this worker; the rest is as its kind says. */
  readonly 'worker.configured': {
    readonly model?: string
    readonly settings?: CallSettings
    readonly tools?: readonly string[]
  }
  /** `results`: how many were cleared. The prompt in tokens before and after, by count and estimate. */
  readonly 'context.cleared': { readonly results: number; readonly tokensBefore: number; readonly tokensAfter: number }
  readonly 'context.changed': {
    /** Somebody from outside took a summary back, took the last turn back, took that back, or added a message. */
    readonly how: ContextChange
    readonly by?: string
  }
  readonly 'model.blanked': { readonly model: string; readonly blanks: number; readonly finishReason: FinishReason }
  readonly 'tool.started': CallDetails
  readonly 'tool.succeeded': CallDetails & { readonly ms?: number }
  /** `error`: what its code threw, shortened; `thrownAt`: the place in that code. */
  readonly 'tool.failed': CallDetails & { readonly ms?: number; readonly error?: string; readonly thrownAt?: string }
  readonly 'tool.unknown': CallDetails
  readonly 'events.trimmed': { readonly after: string }
  readonly 'events.dropped': { /** How many transient events were dropped. */ readonly count: number }
  readonly 'worker.stateChanged': {
    readonly state: FineState
    /** The state of its run, one of eleven. */
    readonly run?: RunState
    /** The state before, if this follower knows it. */
    readonly from?: FineState
    readonly fromRun?: RunState
    /** Counts the claims of the worker: a state of an earlier claim may arrive late, and is dropped. */
    readonly epoch: number
  }
  readonly 'worker.logged': {
    readonly level: LogLevelName
    readonly message: string
    /** The fields as JSON. */
    readonly fields: Readonly<Record<string, unknown>>
    /** Id of the node that wrote the line into its own log. */
    readonly node: string
  }
  readonly 'iteration.completed': {
    readonly run: number
    /** The number of the iteration in the run, from 0. */
    readonly iteration: number
    readonly decision: IterationDecision['type']
    readonly calls: number
    /** What each stage did. */
    readonly trace: readonly string[]
    readonly error?: Pick<Failure, 'code' | 'message'>
  }
  readonly 'text.delta': DeltaDetails
  readonly 'reasoning.delta': DeltaDetails
  readonly 'tool.progress': CallDetails & { /** The value as JSON. */ readonly value: unknown }
}
