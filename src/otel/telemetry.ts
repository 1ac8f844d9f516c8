/**
 * Duty: report to OpenTelemetry what a node reports to its telemetry port.
 * OTEL-1 All spans of a session are of one trace, on whatever node its workers run: the id of the trace is that of the session, without dashes. So
 *    nothing need be stored or passed on, and whoever knows a session finds its trace.
 * OTEL-2 The span of a model call, a tool call or a spawn stands below the turn that makes it.
 * OTEL-3 Without an SDK in the process, the API does nothing, and says so with spans that record nothing.
 * OTEL-4 With `ids`, the span of a turn links to that of the turn before of its worker, which parked and may have run on another node.
 * OTEL-5 A log line of a turn names its trace and its span, if somebody records them.
 * OTEL-6 With `ids`, the turns of a child stand below the span of its spawn, and so below the turn of its spawner, on whatever nodes these were: the
 *    id of that span is the second half of the id of the child. If the node of a spawn died before it was reported, a viewer knows only the place of
 *    its span.
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
  /** The `idGenerator` of the SDK. Without it, turns are not linked, and all of them stand below the session. */
  readonly ids?: TurnIds | undefined
}

export function openTelemetry(options: OpenTelemetryOptions = {}): Telemetry {
  const { tracer = trace.getTracer('troupe'), meter = metrics.getMeter('troupe'), ids } = options
  /** The span of the turn that a worker is in: the parent of its calls. */
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
  const parent =
    name === 'turn' || turn === undefined
      ? parentContext(begun, ids === undefined ? begun.sessionId : begun.workerId)
      : trace.setSpan(context.active(), turn)
  const links = ids === undefined || name !== 'turn' ? [] : linksToLast(begun)
  const start = () => tracer.startSpan(title, { attributes, kind, links }, parent)
  const own = ownId(name, begun)
  return ids === undefined || own === null ? start() : ids.startWith(own, start)
}

/** The id by which others know the span before they see it: for a turn, the next turn of its worker; for a spawn, the turns of the child. */
function ownId(name: SpanName, { turn, child }: Attributes): string | null {
  if (name === 'turn') return String(turn)
  return name === 'spawn' ? spanIdOf(child) : null
}

/** The context of a parent that was reported elsewhere: the spawn of this worker. A root has none; in its place stands the id that its session gives. */
function parentContext({ sessionId }: Attributes, above: Attributes[string] | undefined): Context {
  const traceId = hexOf(sessionId)
  const spanId = spanIdOf(above)
  if (traceId === null || spanId === null) return context.active()
  return trace.setSpanContext(context.active(), { traceId, spanId, traceFlags: TraceFlags.SAMPLED, isRemote: true })
}

function linksToLast({ sessionId, lastTurn }: Attributes): Link[] {
  const traceId = hexOf(sessionId)
  if (traceId === null || lastTurn === undefined) return []
  return [{ context: { traceId, spanId: String(lastTurn), traceFlags: TraceFlags.SAMPLED, isRemote: true } }]
}

/** The second half of an id. For a root, it is the same as that of its session (ID-2). */
function spanIdOf(id: Attributes[string] | undefined): string | null {
  return hexOf(id)?.slice(16) ?? null
}

function hexOf(id: Attributes[string] | undefined): string | null {
  const hex = String(id).replaceAll('-', '')
  return /^[0-9a-f]{32}$/.test(hex) ? hex : null
}

function endSpan(span: OtelSpan, more: Attributes): void {
  span.setAttributes(spanAttributes(more))
  const message = failureOf(more.outcome)
  if (message !== undefined) span.setStatus({ code: SpanStatusCode.ERROR, message })
  span.end()
}
