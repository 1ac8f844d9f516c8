/**
 * Duty: runs one tool call and says how it ended. Keeps nothing between calls.
 * EX1 `run` and `reconcile` never throw, and answer at the latest when the time is over, even if the tool ignores its signal.
 * EX2 The first end counts: what a tool returns, throws, tells or records later is dropped.
 * EX3 What a tool throws is told to the model, unless it is a TransientError (may pass: the call is made again) or a TerminalError
 *     (the run fails).
 */

import type { Tool, ToolContext, Workspace } from '../../core/definition/define-tool.ts'
import { TerminalError, TransientError, toRuntimeError, unreadableText } from '../../core/errors.ts'
import type { ToolOutput } from '../../core/history/chat-message.ts'
import { policy } from '../../core/policy.ts'
import { watchLoop } from '../node/event-loop.ts'
import { type Attempt, ToolAttempt, type ToolCallParts } from './attempt.ts'
import type { Facts } from './fact-collector.ts'
import { limited } from './limited.ts'
import { timedOutText } from './messages.ts'
import { errorOutput, toOutput } from './output.ts'
import { ThreadDeath } from './thread/thread-death.ts'
import { openWorkspace } from './workspace.ts'

export interface ToolRun {
  readonly tool: Tool
  /** As `checkArguments` gave it. */
  readonly input: unknown
  readonly parts: ToolCallParts
}

export type ToolOutcome =
  | { readonly kind: 'done'; readonly output: ToolOutput; readonly facts: Facts }
  /** An error for the model. */
  | { readonly kind: 'failed'; readonly output: ToolOutput; readonly facts: Facts }
  /** It gave no sign of its end: its time is over, or its thread died. Part of what it does may have taken effect. */
  | { readonly kind: 'unfinished'; readonly output: ToolOutput }
  /** The signal fired: nothing is known. */
  | { readonly kind: 'aborted' }
  | { readonly kind: 'transient'; readonly error: TransientError }
  | { readonly kind: 'fatal'; readonly error: TerminalError }

export type Reconciliation =
  | { readonly done: true; readonly output: ToolOutput }
  | { readonly done: false }
  | { readonly unknown: true; readonly why: string }

/** Where tools run that name a thread. */
export interface ToolThreads {
  /** Never rejects. `started` is called when a thread takes the call. `signal` also fires when the time is over. */
  attempt(call: ToolRun, signal: AbortSignal, workspace: Workspace | null, started: () => void): Promise<Attempt>
}

export class ToolExecutor {
  readonly #threads: ToolThreads
  readonly #blockedMs: number

  /** A tool that keeps the event loop of its node for longer than `blockedMs` is named in the log. */
  constructor(threads: ToolThreads, blockedMs: number = policy.renewEveryMs) {
    this.#threads = threads
    this.#blockedMs = blockedMs
  }

  async run(call: ToolRun): Promise<ToolOutcome> {
    const { tool, parts } = call
    const timeoutMs = tool.timeoutMs ?? policy.toolMs
    const end = await limited({ signal: parts.signal, timeoutMs, what: `tool "${tool.name}"` }, (signal, started) =>
      this.#attempt(call, signal, started),
    )
    if (end.kind === 'aborted') return end
    if (end.kind === 'ended') return outcomeOf(end.value, tool.outputBytesMax)
    return { kind: 'unfinished', output: { type: 'error-text', value: timedOutText(tool.name, timeoutMs) } }
  }

  /** Asks a `once` tool whether a call of unknown outcome was carried out. */
  async reconcile(
    tool: Tool,
    input: unknown,
    context: Pick<ToolContext, 'idempotencyKey' | 'signal' | 'log'>,
  ): Promise<Reconciliation> {
    if (!tool.reconcile) return { unknown: true, why: `tool "${tool.name}" has no reconcile function` }
    const timeoutMs = tool.timeoutMs ?? policy.toolMs
    const what = `reconcile of tool "${tool.name}"`
    const { idempotencyKey, log } = context
    const end = await limited({ signal: context.signal, timeoutMs, what }, (signal, started) => {
      started()
      return ask(tool, input, { idempotencyKey, log, signal })
    })
    if (end.kind === 'ended') return end.value
    const why = end.kind === 'timedOut' ? `did not answer within ${timeoutMs} ms` : 'was stopped before it answered'
    return { unknown: true, why: `${what} ${why}` }
  }

  async #attempt(call: ToolRun, signal: AbortSignal, started: () => void): Promise<Attempt> {
    const { tool, input, parts } = call
    try {
      const workspace = parts.folder === null ? null : await openWorkspace(parts.folder, parts.bound)
      // Stopped while its folder was opened: it has not begun, and must not.
      signal.throwIfAborted()
      if (tool.thread !== undefined) return await this.#threads.attempt(call, signal, workspace, started)
      started()
      const attempt = new ToolAttempt(tool, parts, signal, workspace)
      signal.addEventListener('abort', () => attempt.close())
      return await watchLoop(() => attempt.run(input), `tool "${tool.name}"`, this.#blockedMs, parts.log)
    } catch (error) {
      return { kind: 'threw', error, facts: {} }
    }
  }
}

function outcomeOf(attempt: Attempt, outputBytesMax: number | undefined): ToolOutcome {
  if (attempt.kind === 'returned') {
    const { output, facts } = attempt
    return { kind: output.type === 'error-text' ? 'failed' : 'done', output, facts }
  }
  const { error, facts } = attempt
  const { message } = toRuntimeError(error)
  const failed: ToolOutcome = { kind: 'failed', output: errorOutput(message, outputBytesMax), facts }
  // Not even its class can be asked for.
  if (message === unreadableText) return failed
  if (error instanceof ThreadDeath) return { kind: 'unfinished', output: errorOutput(message, outputBytesMax) }
  if (error instanceof TerminalError) return { kind: 'fatal', error }
  if (error instanceof TransientError) return { kind: 'transient', error }
  return failed
}

async function ask(
  tool: Tool,
  input: unknown,
  context: Pick<ToolContext, 'idempotencyKey' | 'signal' | 'log'>,
): Promise<Reconciliation> {
  try {
    const answer = (await tool.reconcile?.(input as never, context)) as { done?: unknown; output?: unknown } | undefined
    if (answer?.done === true) return { done: true, output: toOutput(answer.output, tool.outputBytesMax) }
    if (answer?.done === false) return { done: false }
    return {
      unknown: true,
      why: `reconcile of tool "${tool.name}" answered neither { done: true, … } nor { done: false }`,
    }
  } catch (thrown) {
    return { unknown: true, why: toRuntimeError(thrown).message }
  }
}
