/** Times for tests. */
import { type Policy, policy } from '../../src/core/policy.ts'

const { leaseMs, leaseMarginMs } = policy

/**
 * Leases as they are by default: no machine is so busy that one ends while its node lives, which would start the turn once more. Renewals
 * and sweeps come often, so that what waits for them does not wait for long.
 */
export const sureLeases: Partial<Policy> = { leaseMs, leaseMarginMs, renewEveryMs: 300, sweepEveryMs: 300 }

/** A lease of a second, so that what waits for its end does not wait for long. */
export const shortLeases: Partial<Policy> = {
  leaseMs: 1_000,
  renewEveryMs: 300,
  leaseMarginMs: 200,
  sweepEveryMs: 300,
}
