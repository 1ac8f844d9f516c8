/**
 * Duty: one try of a tool call, with the context that the tool sees; the same in the node and in a thread.
 * AT1 `run` never throws. AT2 After `close` the context tells and records nothing.
 * AT3 What is told as progress is cut like an output, before it leaves a thread: while Redis is slow, a thousand of them may wait in memory.
 */

import type { Tool, ToolContext, Workspace } from '../../core/definition/define-tool.ts'
import type { ToolOutput } from '../../core/history/chat-message.ts'
import { policy } from '../../core/policy.ts'
import { callContext } from './call-context.ts'
import { FactCollector, type Facts } from './fact-collector.ts'
import { toOutput } from './output.ts'
import { ProgressGate } from './progress-gate.ts'

/** What the context of a call is made of. The signal is that of the run: the time limit comes on top. */
export interface ToolCallParts extends Omit<ToolContext, 'workspace' | 'progress' | 'setFact'> {
  /** Absolute path of the worker's folder; null for none. */
  readonly folder: string | null
  /** Absolute path of the folder it was granted, which that one lies in; absent or null for any. */
  readonly bound?: string | null
  readonly onProgress: (value: unknown) => void
}

/** How a try ended, if it did. */
export type Attempt =
  | { readonly kind: 'returned'; readonly output: ToolOutput; readonly facts: Facts }
  | { readonly kind: 'threw'; readonly error: unknown; readonly facts: Facts }

export class ToolAttempt {
  readonly #tool: Tool
  readonly #context: ToolContext
  readonly #collector: FactCollector
  readonly #progress: ProgressGate
  #closed = false

  constructor(tool: Tool, parts: ToolCallParts, signal: AbortSignal, workspace: Workspace | null) {
    const { folder: _folder, bound: _bound, onProgress: _onProgress, ...plain } = parts
    this.#tool = tool
    this.#collector = new FactCollector(tool.name)
    const tell = (value: unknown) => parts.onProgress(toOutput(value, policy.progressBytesMax).value)
    this.#progress = new ProgressGate(tell, policy.deltaEveryMs)
    this.#context = callContext({
      ...plain,
      signal,
      workspace,
      progress: (value: unknown) => this.#progress.push(value),
      setFact: (name: string, value: unknown) => {
        if (!this.#closed) return this.#collector.set(name, value)
        plain.log.warn('a fact was set after its call had ended, and is not recorded', {
          tool: tool.name,
          toolCallId: plain.toolCallId,
          fact: name,
        })
      },
    })
  }

  async run(input: unknown): Promise<Attempt> {
    try {
      const value: unknown = await this.#tool.run(input as never, this.#context)
      const { facts, error } = this.#collector
      if (error !== null) return { kind: 'threw', error, facts: {} }
      return { kind: 'returned', output: toOutput(value, this.#tool.outputBytesMax), facts }
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
