/** Which outcomes of turns are failures, in traces and in what is said of the metric. */
import { expect, test } from 'vitest'
import { failureOf } from '../../src/otel/names.ts'
import type { TurnOver } from '../../src/runtime/turn/turn-state.ts'
import { metrics } from '../../src/telemetry/metric-catalogue.ts'

const isFailure: Readonly<Record<TurnOver, boolean>> = {
  ended: false,
  waits: false,
  fenced: true,
  stale: true,
  unreachable: true,
  blocked: true,
}

test.each(Object.entries(isFailure).filter(([, fails]) => fails))('a turn that ends as %s is a failure', (outcome) => {
  expect(failureOf(outcome)).toBe(outcome)
  expect(metrics.troupe_turns_total.help).toContain(outcome)
})
