/**
 * Duty: the port through which an agent gets its tools. Each agent has one source: the list in its definition, or its resolver.
 * TOOL-SOURCE-1 A source is asked at most once in each turn, before the first model call or tool call. An agent has the same tools during a whole turn.
 * TOOL-SOURCE-2 A source returns the same array while its tools have not changed, because adapters keep what they build from a list.
 */
import type { Tool } from '../definition/tool/define-tool.ts'

export interface ToolSource {
  /**
   * A rejection fails the attempt, like an error of the model: it is retried, or fails the run. It answers or rejects within the time, and when the signal
   * fires.
   */
  tools(signal: AbortSignal, timeoutMs: number): Promise<readonly Tool[]>
}
