/** Times for tests: a lease of a second, so that what waits for its end does not wait for long. */
import type { Policy } from '../../src/core/policy.ts'

export const shortLeases: Partial<Policy> = {
  leaseMs: 1_000,
  renewEveryMs: 300,
  leaseMarginMs: 200,
  sweepEveryMs: 300,
}
