/** The page of metrics as Prometheus reads it, and the bound of its series. */
import { expect, test } from 'vitest'
import { CountingTelemetry } from '../../src/telemetry/counting-telemetry.ts'
import { MetricSet } from '../../src/telemetry/metric-set.ts'
import { metricsText } from '../../src/telemetry/metrics-text.ts'

test('a histogram counts each observation in its bucket and in all larger ones', () => {
  const set = new MetricSet()
  for (const seconds of [0.001, 0.025, 4, 1_000]) set.observe('troupe_turn_seconds', seconds, { kind: 'echo' })
  const lines = metricsText(set, {}).split('\n')
  const bucket = (le: string) =>
    lines.find((line) => line.startsWith(`troupe_turn_seconds_bucket{kind="echo",le="${le}"}`))
  expect(bucket('0.005')?.split(' ')[1]).toBe('1')
  expect(bucket('0.025')?.split(' ')[1]).toBe('2')
  expect(bucket('2.5')?.split(' ')[1]).toBe('2')
  expect(bucket('+Inf')?.split(' ')[1]).toBe('4')
  expect(lines).toContain('troupe_turn_seconds_count{kind="echo"} 4')
  expect(lines).toContain('troupe_turn_seconds_sum{kind="echo"} 1004.026')
})

test('a label value of a user cannot break a line', () => {
  const set = new MetricSet()
  set.add('troupe_runs_total', 1, { kind: 'a"\\\nb 1', outcome: 'completed' })
  expect(metricsText(set, {})).toContain('troupe_runs_total{kind="a\\"\\\\\\nb 1",outcome="completed"} 1\n')
})

test('counters that alerts watch are 0 from the start (METRICS-2)', () => {
  const text = metricsText(new MetricSet(), {})
  for (const name of ['leases_lost', 'unknown_outcomes', 'quarantined', 'budget_exceeded'])
    expect(text).toContain(`\ntroupe_${name}_total 0\n`)
  // One with labels is absent until something was counted (METRICS-TEXT-1).
  expect(text).not.toContain('troupe_runs_total')
})

test('the number of series is bounded, and further ones are counted as other (METRIC-SET-1)', () => {
  const set = new MetricSet()
  for (let number = 0; number < 1_500; number++)
    set.add('troupe_runs_total', 1, { kind: `k${number}`, outcome: 'failed' })
  const samples = set.samples('troupe_runs_total')
  expect(samples).toHaveLength(1_001)
  expect(samples.at(-1)).toMatchObject({ labels: { kind: 'other', outcome: 'other' }, value: 500 })
})

test('no id of a session, a worker or a call becomes a label (METRICS-1)', () => {
  const set = new MetricSet()
  const telemetry = new CountingTelemetry(set)
  const ids = {
    sessionId: 'the-session',
    workerId: 'the-worker',
    toolCallId: 'the-call',
    kind: 'echo',
    pool: 'default',
  }
  telemetry.startSpan('turn', { ...ids, starts: 2, waitedMs: 5 }).end({ outcome: 'ended' })
  telemetry.startSpan('tool_call', { ...ids, tool: 'look' }).end({ outcome: 'done' })
  telemetry.startSpan('model_call', { ...ids, model: 'test/m' }).end({ outcome: 'replied' })
  telemetry.count('runs.ended', 1, { ...ids, outcome: 'failed', code: 'poison' })
  const text = metricsText(set, {})
  expect(text).not.toMatch(/the-(session|worker|call)/)
  expect(text).toContain('troupe_runs_recovered_total{kind="echo"} 1')
  expect(text).toContain('troupe_claim_delay_seconds_sum{pool="default"} 0.005')
  expect(text).toContain('troupe_quarantined_total 1')
})
