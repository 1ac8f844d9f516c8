/** What becomes of each report of a node on its page of metrics: in which metric it counts, with which labels, in which unit. */
import { expect, test, vi } from 'vitest'
import type { Attributes, CounterName, SpanName } from '../../src/core/ports/telemetry.ts'
import { CountingTelemetry } from '../../src/telemetry/counting-telemetry.ts'
import { joinedTelemetry } from '../../src/telemetry/joined-telemetry.ts'
import { MetricSet } from '../../src/telemetry/metric-set.ts'
import { metricsText } from '../../src/telemetry/metrics-text.ts'

/** What the page says that it does not say of a node without reports, without the buckets. */
function counted(report: (telemetry: CountingTelemetry) => void): string[] {
  const set = new MetricSet()
  report(new CountingTelemetry(set))
  const lines = metricsText(set, {}).split('\n')
  return lines.filter((line) => line.startsWith('troupe_') && !/_bucket\{|^\w+ 0$/.test(line))
}

const agent = { kind: 'agent', model: 'test/m' }
const ended = { kind: 'agent', outcome: 'failed' }

test.each<[string, SpanName, Attributes, Attributes, string[]]>([
  [
    'turn',
    'turn',
    { kind: 'echo', pool: 'gpu', starts: 1, waitedMs: 250 },
    { outcome: 'ended' },
    [
      'troupe_turns_total{kind="echo",outcome="ended"} 1',
      'troupe_turn_seconds_sum{kind="echo"} 1.5',
      'troupe_turn_seconds_count{kind="echo"} 1',
      'troupe_claim_delay_seconds_sum{pool="gpu"} 0.25',
      'troupe_claim_delay_seconds_count{pool="gpu"} 1',
    ],
  ],
  [
    'turn that takes over from another one',
    'turn',
    { kind: 'echo', pool: 'gpu', starts: 2 },
    { outcome: 'ended' },
    [
      'troupe_turns_total{kind="echo",outcome="ended"} 1',
      'troupe_turn_seconds_sum{kind="echo"} 1.5',
      'troupe_turn_seconds_count{kind="echo"} 1',
      'troupe_runs_recovered_total{kind="echo"} 1',
    ],
  ],
  [
    'model call',
    'model_call',
    agent,
    { outcome: 'replied' },
    [
      'troupe_model_calls_total{kind="agent",model="test/m",outcome="replied"} 1',
      'troupe_model_call_seconds_sum{model="test/m"} 1.5',
      'troupe_model_call_seconds_count{model="test/m"} 1',
    ],
  ],
  ...(['tool_call', 'sub_call'] as const).map((name): [string, SpanName, Attributes, Attributes, string[]] => [
    name,
    name,
    { kind: 'agent', tool: 'look' },
    { outcome: 'done' },
    [
      'troupe_tool_calls_total{kind="agent",tool="look",outcome="done"} 1',
      'troupe_tool_call_seconds_sum{tool="look"} 1.5',
      'troupe_tool_call_seconds_count{tool="look"} 1',
    ],
  ]),
  ['spawn', 'spawn', { kind: 'agent', childKind: 'echo' }, {}, []],
])('a %s counts under its labels, in seconds', (_, name, begun, more, lines) => {
  vi.spyOn(performance, 'now').mockReturnValueOnce(1_000).mockReturnValueOnce(2_500)
  expect(counted((telemetry) => telemetry.startSpan(name, begun).end(more))).toEqual(lines)
})

test.each<[CounterName, number, Attributes, string[]]>([
  ['tokens.input', 20, agent, ['troupe_tokens_total{kind="agent",model="test/m",direction="input"} 20']],
  ['tokens.output', 3, agent, ['troupe_tokens_total{kind="agent",model="test/m",direction="output"} 3']],
  ['tokens.output', 0, agent, []],
  ['cost.microUsd', 2_500_000, agent, ['troupe_spend_usd_total{kind="agent",model="test/m"} 2.5']],
  ['calls.unpriced', 1, agent, ['troupe_unpriced_calls_total{kind="agent",model="test/m"} 1']],
  ['runs.ended', 1, { ...ended, outcome: 'completed' }, ['troupe_runs_total{kind="agent",outcome="completed"} 1']],
  [
    'runs.ended',
    1,
    { ...ended, code: 'model_failed' },
    [
      'troupe_runs_total{kind="agent",outcome="failed"} 1',
      'troupe_run_failures_total{kind="agent",code="model_failed"} 1',
    ],
  ],
  [
    'runs.ended',
    1,
    { ...ended, code: 'poison' },
    [
      'troupe_runs_total{kind="agent",outcome="failed"} 1',
      'troupe_run_failures_total{kind="agent",code="poison"} 1',
      'troupe_quarantined_total 1',
    ],
  ],
  [
    'runs.ended',
    1,
    { ...ended, code: 'budget_exceeded' },
    [
      'troupe_runs_total{kind="agent",outcome="failed"} 1',
      'troupe_run_failures_total{kind="agent",code="budget_exceeded"} 1',
      'troupe_budget_exceeded_total 1',
    ],
  ],
  ['calls.unknown', 2, agent, ['troupe_unknown_outcomes_total 2']],
  ['leases.lost', 2, { partition: 0 }, ['troupe_leases_lost_total 2']],
  ['iterations', 1, agent, []],
])('the count %s of %i with %j is this on the page: %j', (name, by, attributes, lines) => {
  expect(counted((telemetry) => telemetry.count(name, by, attributes))).toEqual(lines)
})

test('log lines have the fields of each of several telemetry ports', () => {
  const of = (fields: Attributes) => ({ startSpan: () => ({ end() {} }), count() {}, logFields: () => fields })
  expect(joinedTelemetry([of({ one: 1 }), of({ two: 2 })]).logFields?.('w')).toEqual({ one: 1, two: 2 })
})
