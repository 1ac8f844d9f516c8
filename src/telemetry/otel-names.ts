/**
 * Duty: the names of spans and attributes in OpenTelemetry: those of the semantic conventions for generative AI, version 0.1.0, and troupe's own.
 * OTEL-NAMES-1 No content: no prompt, no reply, no arguments, no results.
 */
import type { Attributes, SpanName } from '../core/ports/telemetry.ts'

/** What each span is called: its operation, and what it is about. */
export const operations: Readonly<Record<SpanName, { readonly operation: string; readonly about: string }>> = {
  turn: { operation: 'invoke_agent', about: 'kind' },
  model_call: { operation: 'chat', about: 'model' },
  tool_call: { operation: 'execute_tool', about: 'tool' },
  sub_call: { operation: 'execute_tool', about: 'tool' },
}

const names: Readonly<Record<string, string>> = {
  sessionId: 'gen_ai.conversation.id',
  kind: 'gen_ai.agent.name',
  model: 'gen_ai.request.model',
  tool: 'gen_ai.tool.name',
  toolCallId: 'gen_ai.tool.call.id',
  workerId: 'troupe.worker.id',
  run: 'troupe.run',
  pool: 'troupe.pool',
  starts: 'troupe.starts',
  waitedMs: 'troupe.waited_ms',
  iteration: 'troupe.iteration',
  attempt: 'troupe.attempt',
  label: 'troupe.step',
  outcome: 'troupe.outcome',
}

/** What has no name here is left out. */
export function namedAttributes(attributes: Attributes): Record<string, string | number | boolean> {
  const found: Record<string, string | number | boolean> = {}
  for (const [name, value] of Object.entries(attributes)) {
    const known = names[name]
    if (known !== undefined) found[known] = value
  }
  return found
}
