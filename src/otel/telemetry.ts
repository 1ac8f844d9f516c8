/**
 * Duty: report to OpenTelemetry what a node reports to its telemetry port.
 * OTEL-1 All spans of a session are of one trace, on whatever node its workers run: the id of the trace is that of the session, without dashes. So
 *    nothing need be stored or passed on, and who knows a session finds its trace.
 * OTEL-2 The span of a model call or a tool call stands below the turn that makes it.
 * OTEL-3 Without an SDK in the process, the API does nothing, and says so with spans that record nothing.
 * OTEL-4 With `ids`, the span of a turn links to that of the turn before of its worker, which parked and may have run on another node.
 * OTEL-5 A log line of a turn names its trace and its span, if somebody records them.
 */
import {
  type Context,
  context,
  type Link,
  type Meter,
  metrics,
  type Attributes as OtelAttributes,
  type Span as OtelSpan,
  SpanStatusCode,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { Attributes, SpanName, Telemetry } from '../core/ports/telemetry.ts'
import { genAiMetrics } from './metrics.ts'
import { failureOf, operations, spanAttributes } from './names.ts'
import type { TurnIds } from './turn-ids.ts'

export interface OpenTelemetryOptions {
  /** Default: that of the SDK which the process has registered. */
  readonly tracer?: Tracer | undefined
  /** Default: that of the SDK which the process has registered. */
  readonly meter?: Meter | undefined
  /** The `idGenerator` of the SDK. Without it, turns are not linked. */
  readonly ids?: TurnIds | undefined
}

export function openTelemetry(options: OpenTelemetryOptions = {}): Telemetry {
  const { tracer = trace.getTracer('troupe'), meter = metrics.getMeter('troupe'), ids } = options
  /** The turn that a worker is in: the parent of its calls. */
  const turns = new Map<string, OtelSpan>()
  const counted = genAiMetrics(meter)
  return {
    startSpan(name, begun) {
      const workerId = String(begun.workerId)
      const startedAt = performance.now()
      const span = started({ tracer, ids }, name, begun, turns.get(workerId))
      if (name === 'turn') turns.set(workerId, span)
      return {
        end(more) {
          if (turns.get(workerId) === span) turns.delete(workerId)
          counted.spanEnded(name, (performance.now() - startedAt) / 1_000, { ...begun, ...more })
          endSpan(span, more)
        },
      }
    },
    count(name, _by, attributes) {
      if (name === 'runs') counted.runEnded(attributes)
    },
    logFields(workerId) {
      const span = turns.get(workerId)
      if (span?.isRecording() !== true) return {}
      const { traceId, spanId, traceFlags } = span.spanContext()
      return { trace_id: traceId, span_id: spanId, trace_flags: traceFlags.toString(16).padStart(2, '0') }
    },
  }
}

function started(
  { tracer, ids }: { readonly tracer: Tracer; readonly ids: TurnIds | undefined },
  name: SpanName,
  begun: Attributes,
  turn: OtelSpan | undefined,
): OtelSpan {
  const { operation, about, kind } = operations[name]
  const attributes: OtelAttributes = { 'gen_ai.operation.name': operation, ...spanAttributes(begun) }
  const what = attributes[about]
  const title = typeof what === 'string' ? `${operation} ${what}` : operation
  if (name !== 'turn' && turn !== undefined)
    return tracer.startSpan(title, { attributes, kind }, trace.setSpan(context.active(), turn))
  const start = (links: Link[]) => tracer.startSpan(title, { attributes, kind, links }, sessionContext(begun))
  if (ids === undefined || name !== 'turn') return start([])
  return ids.startWith(String(begun.turn), () => start(linksToLast(begun)))
}

/** A parent that nobody reports: it gives the trace its id. Its own id is the second half of the id of the session's root. */
function sessionContext(begun: Attributes): Context {
  const traceId = traceIdOf(begun)
  if (traceId === null) return context.active()
  const spanId = traceId.slice(16)
  return trace.setSpanContext(context.active(), { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true })
}

function linksToLast(begun: Attributes): Link[] {
  const traceId = traceIdOf(begun)
  const { lastTurn } = begun
  if (traceId === null || lastTurn === undefined) return []
  return [{ context: { traceId, spanId: String(lastTurn), traceFlags: TraceFlags.SAMPLED, isRemote: true } }]
}

function traceIdOf({ sessionId }: Attributes): string | null {
  const traceId = String(sessionId).replaceAll('-', '')
  return /^[0-9a-f]{32}$/.test(traceId) ? traceId : null
}

function endSpan(span: OtelSpan, more: Attributes): void {
  span.setAttributes(spanAttributes(more))
  const message = failureOf(more.outcome)
  if (message !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message })
  span.end()
}
