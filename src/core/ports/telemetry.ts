/**
 * Duty: the port through which a node reports its work: spans, which have a duration, and counters; and what log lines say of them.
 * Owns: the names of spans and counters. Does not own: where the reports go. By default they go nowhere.
 * TELEMETRY-1 Reports change nothing: a port that throws or rejects is ignored, and nothing waits for it.
 * TELEMETRY-2 What a turn reports and could not record, because its node died, the turn that takes over reports again.
 */

import { ignoreRejection } from '../check/ignore-rejection.ts'

export type SpanName =
  /**
   * A node runs a worker, from the claim to the ending commit. `turn` names it among all turns, and `lastTurn` the one before of the same worker, on
   * whatever node that was; each is 16 hexadecimal digits.
   */
  | 'turn'
  /** An agent asks its model once. Its end says the tokens, why the reply ended and after how many ms its first arrived (`firstMs`), or the `code` of its failure. */
  | 'model_call'
  /** An agent runs a tool once; another attempt is another span. */
  | 'tool_call'
  /** A step of a recipe runs a tool once. */
  | 'sub_call'
  /** A commit has recorded that a worker spawned another one: `child` is its id, `childKind` its kind. It ends at once, within the turn. */
  | 'spawn'

export type CounterName =
  | 'tokens.input'
  | 'tokens.output'
  /** What a model call cost, in millionths of a dollar. */
  | 'cost.microUsd'
  /** A model call was answered, and nobody knows its price. */
  | 'calls.unpriced'
  /** A model has replied to an agent; `iteration` and `toolCalls` say which reply of the run it is, and how many calls it asks for. */
  | 'iterations'
  /** A run of an agent has ended: with `outcome`, how many `ms` it took, and the `iterations` and `toolCalls` of the whole run. */
  | 'runs'
  /** The end of a run of any kind is recorded: with `outcome`, and the `code` of its failure if it failed. */
  | 'runs.ended'
  /** It is recorded that nobody knows whether a tool call took effect. */
  | 'calls.unknown'
  /** A sweep of this node took away leases that had ended during a turn. */
  | 'leases.lost'

/** An attribute that is undefined counts as missing. */
export type Attributes = Readonly<Record<string, string | number | boolean | undefined>>

export interface Span {
  /** `attributes`: what is known only at the end, such as the outcome. */
  end(attributes: Attributes): void
}

export interface Telemetry {
  startSpan(name: SpanName, attributes: Attributes): Span
  count(name: CounterName, by: number, attributes: Attributes): void
  /** What each log line of a worker says in addition to its ids, while a turn of it is open. */
  logFields?(workerId: string): Attributes
}

const noSpan: Span = { end: () => {} }

export const noTelemetry: Telemetry = { startSpan: () => noSpan, count: () => {} }

/** The same telemetry, with errors of its port ignored (TELEMETRY-1). */
export function safeTelemetry(port: Telemetry | undefined): Telemetry {
  if (port === undefined) return noTelemetry
  return {
    startSpan(name, attributes) {
      const span = quietly(() => port.startSpan(name, attributes)) ?? noSpan
      return { end: (more) => quietly(() => span.end(more)) }
    },
    count: (name, by, attributes) => quietly(() => port.count(name, by, attributes)),
    logFields: (workerId) => quietly(() => port.logFields?.(workerId)) ?? {},
  }
}

function quietly<Result>(report: () => Result): Result | undefined {
  try {
    const result = report()
    // An async function fits the port too.
    ignoreRejection(result)
    return result
  } catch {
    return undefined
  }
}
