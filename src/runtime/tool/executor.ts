/**
 * Duty: run one tool call and return how it ended. Keeps nothing between calls.
 * Does not own: what is recorded about a call (agent/call/local/local-calls.ts), the tool's context (attempt.ts).
 * EXECUTOR-1 `run` and `reconcile` never throw. They answer when the time is over at the latest, even if the tool ignores its signal.
 * EXECUTOR-2 The first end counts. Whatever a tool returns, throws, publishes or records later is dropped.
 * EXECUTOR-3 An error that a tool throws goes to the model, with two exceptions: a TransientError makes the call run again, a TerminalError
 *            fails the run.
 * EXECUTOR-4 What a tool returned is redacted here, in the node: a thread does not know the secrets of its node.
 */

import { thrownFields } from '../../core/code-place.ts'
import type { Tool, ToolContext, Workspace } from '../../core/definition/tool/define-tool.ts'
import { TerminalError, TransientError, toRuntimeError, unreadableText } from '../../core/errors.ts'
import type { ToolOutput } from '../../core/history/chat/chat-message.ts'
import { policy } from '../../core/policy.ts'
import { redactData } from '../../core/secret/redact.ts'
import { watchLoop } from '../user-code/event-loop.ts'
import { runUserPart } from '../user-code/user-code.ts'
import { type Attempt, outputMost, ToolAttempt, type ToolCallParts } from './attempt.ts'
import { FactCollector, type Facts } from './fact-collector.ts'
import { limited } from './limited.ts'
import { timedOutText } from './messages.ts'
import { errorOutput, type KeptOutput, toOutput } from './output.ts'
import { ThreadDeath } from './thread/thread-death.ts'
import { openWorkspace } from './workspace.ts'

export interface ToolRun {
  readonly tool: Tool
  /** The value that `checkArguments` returned. */
  readonly input: unknown
  readonly parts: ToolCallParts
}

export type ToolOutcome =
  | (KeptOutput & { readonly kind: 'done'; readonly facts: Facts })
  /** The tool failed; the output tells the model why. `thrown`: what the tool threw, unless it returned an error. */
  | { readonly kind: 'failed'; readonly output: ToolOutput; readonly facts: Facts; readonly thrown?: unknown }
  /** The tool did not end: its time is over, or its thread died. Part of its work may have taken effect. */
  | { readonly kind: 'unfinished'; readonly output: ToolOutput }
  /** The signal fired. Nothing is known about the effects of the tool. */
  | { readonly kind: 'aborted' }
  | { readonly kind: 'transient'; readonly error: TransientError }
  | { readonly kind: 'fatal'; readonly error: TerminalError }

export type Reconciliation =
  | { readonly done: true; readonly output: ToolOutput; readonly facts: Facts }
  | { readonly done: false }
  | { readonly unknown: true; readonly why: string }

/** Runs the tools that ask for a thread. */
export interface ToolThreads {
  /** Never rejects. Calls `started` when a thread takes the call. `signal` also fires when the time is over. */
  attempt(call: ToolRun, signal: AbortSignal, workspace: Workspace | null, started: () => void): Promise<Attempt>
}

export class ToolExecutor {
  readonly #threads: ToolThreads
  readonly #blockedMs: number

  /** A tool that blocks the event loop of its node for longer than `blockedMs` is named in the log. */
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
    if (end.kind === 'ended') return outcomeOf(end.value, outputMost(tool, parts))
    return { kind: 'unfinished', output: { type: 'error-text', value: timedOutText(tool.name, timeoutMs) } }
  }

  /** Asks a `once` tool whether it carried out a call of unknown outcome. */
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
      return runUserPart(what, () => ask(tool, input, { idempotencyKey, log, signal }))
    })
    if (end.kind === 'ended') return end.value
    const why = end.kind === 'timedOut' ? `did not answer within ${timeoutMs} ms` : 'was stopped before it answered'
    return { unknown: true, why: `${what} ${why}` }
  }

  async #attempt(call: ToolRun, signal: AbortSignal, started: () => void): Promise<Attempt> {
    const { tool, input, parts } = call
    try {
      const workspace = parts.folder === null ? null : await openWorkspace(parts.folder, parts.bounds)
      // If the signal fired while the folder was opened, the tool has not begun and must not begin.
      signal.throwIfAborted()
      if (tool.thread !== undefined) return await this.#threads.attempt(call, signal, workspace, started)
      started()
      const attempt = new ToolAttempt(tool, parts, signal, workspace)
      signal.addEventListener('abort', () => attempt.close())
      const what = `tool "${tool.name}"`
      const run = () => watchLoop(() => attempt.run(input), what, this.#blockedMs, parts.log)
      return await runUserPart(`${what} (${parts.toolCallId})`, run)
    } catch (error) {
      return { kind: 'threw', error, facts: {} }
    }
  }
}

function outcomeOf(attempt: Attempt, outputBytesMax: number): ToolOutcome {
  if (attempt.kind === 'returned') {
    const { output, facts } = redactData({ output: attempt.output, facts: attempt.facts })
    if (output.type === 'error-text') return { kind: 'failed', output, facts }
    const { whole } = attempt
    return whole === undefined
      ? { kind: 'done', output, facts }
      : { kind: 'done', output, facts, whole: redactData(whole) }
  }
  const { error } = attempt
  const facts = redactData(attempt.facts)
  const { message } = toRuntimeError(error)
  const failed: ToolOutcome = { kind: 'failed', output: errorOutput(message, outputBytesMax), facts, thrown: error }
  // The thrown value is so broken that not even its class can be read.
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
  const collector = new FactCollector(tool.name)
  const setFact = (name: string, value: unknown) => collector.set(name, value)
  try {
    const asked = tool.reconcile?.(input as never, { ...context, setFact })
    const answer = (await asked) as { done?: unknown; output?: unknown } | undefined
    const { facts, error } = collector
    if (error !== null) throw error
    if (answer?.done === true) {
      return { done: true, ...redactData({ output: toOutput(answer.output, tool.outputBytesMax), facts }) }
    }
    if (answer?.done === false) return { done: false }
    return {
      unknown: true,
      why: `reconcile of tool "${tool.name}" answered neither { done: true, … } nor { done: false }`,
    }
  } catch (thrown) {
    const error = toRuntimeError(thrown).message
    context.log.warn(`reconcile of tool "${tool.name}" threw`, { tool: tool.name, error, ...thrownFields(thrown) })
    return { unknown: true, why: error }
  }
}
