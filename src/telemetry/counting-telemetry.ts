/**
 * Duty: count in a MetricSet what a node reports to its telemetry port.
 * COUNTING-1 Only labels that the catalogue names are kept: no ids (METRICS-1).
 */
import type { Attributes, CounterName, Span, SpanName, Telemetry } from '../core/ports/telemetry.ts'
import type { Labels, MetricSet } from './metric-set.ts'

type Counting = (set: MetricSet, by: number, attributes: Attributes) => void
type SpanEnd = (set: MetricSet, seconds: number, attributes: Attributes) => void

export class CountingTelemetry implements Telemetry {
  readonly #set: MetricSet

  constructor(set: MetricSet) {
    this.#set = set
  }

  startSpan(name: SpanName, begun: Attributes): Span {
    const startedAt = performance.now()
    const { waitedMs } = begun
    if (name === 'turn' && typeof waitedMs === 'number')
      this.#set.observe('troupe_claim_delay_seconds', waitedMs / 1_000, labelsOf(begun, 'pool'))
    return {
      end: (more) => ends[name](this.#set, (performance.now() - startedAt) / 1_000, { ...begun, ...more }),
    }
  }

  count(name: CounterName, by: number, attributes: Attributes): void {
    counts[name]?.(this.#set, by, attributes)
  }
}

const toolEnd: SpanEnd = (set, seconds, attributes) => {
  set.add('troupe_tool_calls_total', 1, labelsOf(attributes, 'kind', 'tool', 'outcome'))
  set.observe('troupe_tool_call_seconds', seconds, labelsOf(attributes, 'tool'))
}

const ends: Readonly<Record<SpanName, SpanEnd>> = {
  turn: (set, seconds, attributes) => {
    set.add('troupe_turns_total', 1, labelsOf(attributes, 'kind', 'outcome'))
    set.observe('troupe_turn_seconds', seconds, labelsOf(attributes, 'kind'))
    if (Number(attributes.starts) > 1) set.add('troupe_runs_recovered_total', 1, labelsOf(attributes, 'kind'))
  },
  model_call: (set, seconds, attributes) => {
    set.add('troupe_model_calls_total', 1, labelsOf(attributes, 'kind', 'model', 'outcome'))
    set.observe('troupe_model_call_seconds', seconds, labelsOf(attributes, 'model'))
  },
  tool_call: toolEnd,
  sub_call: toolEnd,
  // A spawn is counted nowhere: `troupe_runs_total` has the run of the child.
  spawn: () => {},
}

const tokens =
  (direction: 'input' | 'output'): Counting =>
  (set, by, attributes) =>
    set.add('troupe_tokens_total', by, { ...labelsOf(attributes, 'kind', 'model'), direction })

const counts: Readonly<Partial<Record<CounterName, Counting>>> = {
  'tokens.input': tokens('input'),
  'tokens.output': tokens('output'),
  'cost.microUsd': (set, by, attributes) =>
    set.add('troupe_spend_usd_total', by / 1e6, labelsOf(attributes, 'kind', 'model')),
  'calls.unpriced': (set, by, attributes) =>
    set.add('troupe_unpriced_calls_total', by, labelsOf(attributes, 'kind', 'model')),
  'runs.ended': (set, by, attributes) => {
    set.add('troupe_runs_total', by, labelsOf(attributes, 'kind', 'outcome'))
    if (attributes.code !== undefined) set.add('troupe_run_failures_total', by, labelsOf(attributes, 'kind', 'code'))
    if (attributes.code === 'poison') set.add('troupe_quarantined_total', by)
    if (attributes.code === 'budget_exceeded') set.add('troupe_budget_exceeded_total', by)
  },
  'calls.unknown': (set, by) => set.add('troupe_unknown_outcomes_total', by),
  'leases.lost': (set, by) => set.add('troupe_leases_lost_total', by),
}

function labelsOf(attributes: Attributes, ...names: readonly string[]): Labels {
  return Object.fromEntries(names.map((name) => [name, String(attributes[name] ?? '')]))
}
