/**
 * Duty: make one attempt of a tool call, with the context that the tool sees. It works alike in the node and in a thread.
 * Does not own: time limits and the meaning of an outcome (executor.ts).
 * ATTEMPT-1 `run` never throws.
 * ATTEMPT-2 After `close` the context publishes and records nothing.
 * ATTEMPT-3 Progress is cut to a size limit before it leaves a thread, because up to a thousand values may wait in memory while Redis is
 *           slow.
 */

import type { Tool, ToolContext, Workspace } from '../../core/definition/tool/define-tool.ts'
import { policy } from '../../core/policy.ts'
import { callContext } from './call-context.ts'
import { FactCollector, type Facts } from './fact-collector.ts'
import { type KeptOutput, toKeptOutput, toOutput } from './output.ts'
import { ThrottledProgress } from './throttled-progress.ts'

/** The parts of a call's context. The signal is that of the run; the executor adds the time limit. */
export interface ToolCallParts extends Omit<ToolContext, 'workspace' | 'progress' | 'setFact'> {
  /** Absolute path of the worker's folder. Null if it has none. */
  readonly folder: string | null
  /** Absolute paths of the folders that the worker's permissions and its node name. `folder` must lie in all of them. */
  readonly bounds?: readonly string[]
  readonly onProgress: (value: unknown) => void
  /** The part of the output that is kept, in bytes. The tool may set less. Default: as much as the tool sets. */
  readonly outputBytesMax?: number
  /** An output of more than `over` bytes is kept whole, beside a preview of at most `preview` bytes. Null or absent: it is cut. */
  readonly keeps?: { readonly over: number; readonly preview: number } | null
}

/** How much of an output is kept: what the tool sets, or less if the reply has many calls. */
export function outputMost(
  { outputBytesMax }: Tool,
  { outputBytesMax: share, keeps }: Pick<ToolCallParts, 'outputBytesMax' | 'keeps'>,
): number {
  const most = outputBytesMax ?? keeps?.over ?? policy.toolOutputBytesMax
  return Math.min(most, share ?? most)
}

/** The part of a tool's output that is kept; and all of it beside that, if it is long. */
export function outputOf(
  tool: Tool,
  parts: Pick<ToolCallParts, 'outputBytesMax' | 'keeps'>,
  value: unknown,
): KeptOutput {
  const { keeps } = parts
  const most = outputMost(tool, parts)
  if (keeps == null) return { output: toOutput(value, most) }
  return toKeptOutput(value, most, tool.outputBytesMax ?? keeps.preview)
}

/** How the tool's function ended. */
export type Attempt =
  | (KeptOutput & { readonly kind: 'returned'; readonly facts: Facts })
  | { readonly kind: 'threw'; readonly error: unknown; readonly facts: Facts }

export class ToolAttempt {
  readonly #tool: Tool
  readonly #context: ToolContext
  readonly #collector: FactCollector
  readonly #progress: ThrottledProgress
  readonly #parts: Pick<ToolCallParts, 'outputBytesMax' | 'keeps'>
  #closed = false

  constructor(tool: Tool, parts: ToolCallParts, signal: AbortSignal, workspace: Workspace | null) {
    const {
      folder: _folder,
      bounds: _bounds,
      onProgress: _onProgress,
      outputBytesMax: _share,
      keeps: _keeps,
      ...plain
    } = parts
    this.#tool = tool
    this.#parts = parts
    this.#collector = new FactCollector(tool.name)
    const publish = (value: unknown) => parts.onProgress(toOutput(value, policy.progressBytesMax).value)
    this.#progress = new ThrottledProgress(publish, policy.deltaEveryMs)
    this.#context = callContext({
      ...plain,
      signal,
      workspace,
      progress: (value: unknown) => this.#progress.push(value),
      setFact: (name: string, value: unknown) => {
        if (!this.#closed) return this.#collector.set(name, value)
        plain.log.warn(
          'a fact was set after its tool call had ended and is not recorded: await all work before the tool returns',
          {
            tool: tool.name,
            toolCallId: plain.toolCallId,
            fact: name,
          },
        )
      },
    })
  }

  async run(input: unknown): Promise<Attempt> {
    try {
      const value: unknown = await this.#tool.run(input as never, this.#context)
      const { facts, error } = this.#collector
      if (error !== null) return { kind: 'threw', error, facts: {} }
      return { kind: 'returned', ...outputOf(this.#tool, this.#parts, value), facts }
    } catch (error) {
      const { facts, error: refused } = this.#collector
      return refused === null ? { kind: 'threw', error, facts } : { kind: 'threw', error: refused, facts: {} }
    } finally {
      this.close()
    }
  }

  close(): void {
    this.#closed = true
    this.#progress.close()
  }
}
