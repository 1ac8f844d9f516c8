/** Duty: the messages between a node and the threads of its tools. Each of them can be cloned; errors are sent by the name of their class. */
import type { MessagePort } from 'node:worker_threads'
import { stackCharsMax, stackOf } from '../../../core/code-place.ts'
import type { WorkerLog } from '../../../core/definition/worker-log.ts'
import { TerminalError, TransientError, toRuntimeError } from '../../../core/errors.ts'
import type { Attempt, ToolCallParts } from '../attempt.ts'

type Settings<E extends abstract new (message: string, options: never) => unknown> = NonNullable<
  ConstructorParameters<E>[1]
>

/** Starts a call in a thread. All further messages of the call go over its own port. */
export interface ThreadOrder {
  readonly port: MessagePort
  readonly moduleUrl: string
  readonly toolName: string
  readonly input: unknown
  readonly parts: Omit<ToolCallParts, 'signal' | 'log' | 'onProgress'>
}

/** To the thread: the call's signal fires, for this reason. */
export interface AbortMessage {
  readonly name: string
  readonly message: string
}

/** From the thread. `ended` is the last message. */
export type ThreadMessage =
  | { readonly type: 'progress'; readonly value: unknown }
  | {
      readonly type: 'log'
      readonly level: keyof WorkerLog
      readonly message: string
      readonly fields: Record<string, unknown> | undefined
    }
  | { readonly type: 'ended'; readonly attempt: WireAttempt }

/** `stack`: as it was in the thread, since the error that is made of it here would name this file. */
type WireError = { readonly stack?: string | undefined } & WireMessage

type WireMessage =
  | { readonly sort: 'transient'; readonly message: string; readonly settings: Settings<typeof TransientError> }
  | { readonly sort: 'terminal'; readonly message: string; readonly settings: Settings<typeof TerminalError> }
  | { readonly sort: 'other'; readonly message: string }

type WireAttempt =
  | Extract<Attempt, { kind: 'returned' }>
  | (Omit<Extract<Attempt, { kind: 'threw' }>, 'error'> & { readonly error: WireError })

export function toWire(attempt: Attempt): WireAttempt {
  return attempt.kind === 'returned' ? attempt : { ...attempt, error: wireError(attempt.error) }
}

export function fromWire(attempt: WireAttempt): Attempt {
  return attempt.kind === 'returned' ? attempt : { ...attempt, error: realError(attempt.error) }
}

function wireError(thrown: unknown): WireError {
  return { ...wireMessage(thrown), stack: stackOf(thrown)?.slice(0, stackCharsMax) }
}

function wireMessage(thrown: unknown): WireMessage {
  // Only a TransientError that the tool itself threw counts as one. toRuntimeError wraps every foreign error in that class too.
  const { message, code } = toRuntimeError(thrown)
  if (thrown instanceof TransientError) {
    const { retryAfterMs } = thrown
    const settings = { code, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) } as Settings<
      typeof TransientError
    >
    return { sort: 'transient', message, settings }
  }
  if (thrown instanceof TerminalError) {
    return { sort: 'terminal', message, settings: { code } as Settings<typeof TerminalError> }
  }
  return { sort: 'other', message }
}

function realError({ stack, ...message }: WireError): Error {
  return Object.assign(errorOf(message), { stack: stack ?? '' })
}

function errorOf(error: WireMessage): Error {
  if (error.sort === 'transient') return new TransientError(error.message, error.settings)
  if (error.sort === 'terminal') return new TerminalError(error.message, error.settings)
  return new Error(error.message)
}
