/**
 * Duty: report to OpenTelemetry what a node reports to its telemetry port.
 * OTEL-1 All spans of a session are of one trace, on whatever node its workers run: the id of the trace is that of the session, without dashes. So
 *    nothing need be stored or passed on, and who knows a session finds its trace.
 * OTEL-2 The span of a model call or a tool call stands below the turn that makes it.
 * OTEL-3 Without an SDK in the process, the API does nothing, and says so with spans that record nothing.
 */
import { context, type Span as OtelSpan, SpanStatusCode, TraceFlags, type Tracer, trace } from '@opentelemetry/api'
import type { Attributes, Span, SpanName, Telemetry } from '../core/ports/telemetry.ts'
import { namedAttributes, operations } from './otel-names.ts'

const failures = new Set(['failed', 'fenced', 'stale', 'unreachable', 'unfinished'])

/** `tracer`: default, that of the SDK which the process has registered. */
export function openTelemetry(tracer: Tracer = trace.getTracer('troupe')): Telemetry {
  /** The turn that a worker is in: the parent of its calls. */
  const turns = new Map<string, OtelSpan>()
  return {
    startSpan(name, attributes) {
      const span = started(tracer, name, attributes, turns.get(String(attributes.workerId)))
      const { workerId } = attributes
      if (name === 'turn') turns.set(String(workerId), span)
      return ending(span, () => {
        if (name === 'turn' && turns.get(String(workerId)) === span) turns.delete(String(workerId))
      })
    },
    count() {},
  }
}

function started(tracer: Tracer, name: SpanName, attributes: Attributes, turn: OtelSpan | undefined): OtelSpan {
  const { operation, about } = operations[name]
  const named = { 'gen_ai.operation.name': operation, ...namedAttributes(attributes) }
  const parent =
    name === 'turn' || turn === undefined ? sessionContext(attributes) : trace.setSpan(context.active(), turn)
  return tracer.startSpan(`${operation} ${attributes[about] ?? ''}`.trimEnd(), { attributes: named }, parent)
}

/** A parent that nobody reports: it gives the trace its id. Its own id is the second half of the id of the session's root. */
function sessionContext({ sessionId }: Attributes) {
  const traceId = String(sessionId).replaceAll('-', '')
  if (!/^[0-9a-f]{32}$/.test(traceId)) return context.active()
  const spanId = traceId.slice(16)
  return trace.setSpanContext(context.active(), { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true })
}

function ending(span: OtelSpan, ended: () => void): Span {
  return {
    end(more) {
      ended()
      span.setAttributes(namedAttributes(more))
      const outcome = String(more.outcome ?? '')
      if (failures.has(outcome)) span.setStatus({ code: SpanStatusCode.ERROR, message: outcome })
      span.end()
    },
  }
}
