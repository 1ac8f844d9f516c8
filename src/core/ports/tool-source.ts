/**
 * Duty: the port through which an agent gets its tools. Today each agent has one source: the list in its definition.
 * TOOL-SOURCE-1 A source is asked once in each turn. An agent has the same tools during a whole turn.
 * TOOL-SOURCE-2 A source returns the same array while its tools have not changed, because adapters keep what they build from a list.
 */
import type { Tool } from '../definition/define-tool.ts'

export interface ToolSource {
  /** A rejection breaks the turn, as any unforeseen error does. */
  tools(): Promise<readonly Tool[]>
}
