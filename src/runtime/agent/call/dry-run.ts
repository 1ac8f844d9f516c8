/**
 * Duty: what a call gets in a dry run, a copy of a session in which tools with effects are not run (`session.fork({ dryRun: true })`).
 * DRY-RUN-1 Only pure tools run. A call that the original session had started is not run either, and nobody looks for its outcome.
 */
import type { Tool } from '../../../core/definition/tool/define-tool.ts'
import type { ToolOutput } from '../../../core/history/chat/chat-message.ts'
import type { Journal } from '../journal.ts'

/** The output of a call that is not run; null for a call that runs. `tool`: undefined if the kind has it no longer. */
export function dryOutput({ turn }: Journal, tool: Tool | undefined, toolName: string): ToolOutput | null {
  if (!turn.assignment.isDryRun || tool?.effect === 'pure') return null
  return {
    type: 'error-text',
    value: `This call of '${toolName}' was not run, and changed nothing: this session is a dry run, in which only tools without effects run.`,
  }
}
