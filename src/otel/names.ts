/**
 * Duty: the names of spans, metrics and attributes in OpenTelemetry: those of the semantic conventions for generative AI, version 0.1.0, and troupe's own.
 * OTEL-NAMES-1 No content: no prompt, no reply, no arguments, no results.
 * OTEL-NAMES-2 Attributes of metrics name no session, worker or call: the number of series grows with kinds, models and tools alone.
 */
import { type Attributes as OtelAttributes, SpanKind } from '@opentelemetry/api'
import type { Attributes, SpanName } from '../core/ports/telemetry.ts'

interface Operation {
  readonly operation: string
  /** The attribute that follows it in the name of the span. */
  readonly about: string
  readonly kind: SpanKind
}

const tool: Operation = { operation: 'execute_tool', about: 'gen_ai.tool.name', kind: SpanKind.INTERNAL }

export const operations: Readonly<Record<SpanName, Operation>> = {
  turn: { operation: 'invoke_agent', about: 'gen_ai.agent.name', kind: SpanKind.INTERNAL },
  model_call: { operation: 'chat', about: 'gen_ai.request.model', kind: SpanKind.CLIENT },
  tool_call: tool,
  sub_call: tool,
  spawn: { operation: 'spawn', about: 'troupe.child.kind', kind: SpanKind.PRODUCER },
}

const names: Readonly<Record<string, string>> = {
  sessionId: 'gen_ai.conversation.id',
  kind: 'gen_ai.agent.name',
  tool: 'gen_ai.tool.name',
  toolCallId: 'gen_ai.tool.call.id',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
  cacheWriteTokens: 'gen_ai.usage.cache_write.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  workerId: 'troupe.worker.id',
  run: 'troupe.run',
  pool: 'troupe.pool',
  starts: 'troupe.starts',
  waitedMs: 'troupe.waited_ms',
  iteration: 'troupe.iteration',
  attempt: 'troupe.attempt',
  label: 'troupe.step',
  outcome: 'troupe.outcome',
  child: 'troupe.child.id',
  childKind: 'troupe.child.kind',
}

const failures = new Set(['failed', 'fenced', 'stale', 'unreachable', 'blocked', 'unfinished'])

/** An attribute without a name here is left out. */
export function spanAttributes(attributes: Attributes): OtelAttributes {
  const found: OtelAttributes = { ...modelAttributes(attributes), ...errorAttributes(attributes) }
  for (const [name, value] of Object.entries(attributes)) {
    const known = names[name]
    if (known !== undefined && value !== undefined) found[known] = value
  }
  const { finishReason, repliedBy, firstMs } = attributes
  if (finishReason !== undefined) found['gen_ai.response.finish_reasons'] = [String(finishReason)]
  if (typeof firstMs === 'number') found['gen_ai.response.time_to_first_chunk'] = firstMs / 1_000
  if (repliedBy !== undefined) found['gen_ai.response.model'] = modelIn(String(repliedBy))
  return found
}

/** The attributes for metrics: what was done, with which model, tool or kind, and how it failed. */
export function metricAttributes(span: SpanName, attributes: Attributes): OtelAttributes {
  const { kind, tool: toolName } = attributes
  return {
    'gen_ai.operation.name': operations[span].operation,
    ...(kind !== undefined && { 'gen_ai.agent.name': kind }),
    ...(toolName !== undefined && { 'gen_ai.tool.name': toolName }),
    ...modelAttributes(attributes),
    ...errorAttributes(attributes),
  }
}

/** The id of a model is `provider/model`. */
function modelAttributes({ model }: Attributes): OtelAttributes {
  if (model === undefined) return {}
  const provider = String(model).split('/', 1)[0] as string
  // The same provider under the name of another of its protocols.
  return {
    'gen_ai.provider.name': provider.replace(/^openai-chat$/, 'openai'),
    'gen_ai.request.model': modelIn(String(model)),
  }
}

function modelIn(id: string): string {
  return id.slice(id.indexOf('/') + 1)
}

/** The code of the failure, or else the outcome if that is one. */
function errorAttributes({ outcome, code }: Attributes): OtelAttributes {
  const failed = failureOf(outcome)
  return failed === undefined ? {} : { 'error.type': code ?? failed }
}

export function failureOf(outcome: Attributes[string] | undefined): string | undefined {
  return failures.has(String(outcome)) ? String(outcome) : undefined
}
