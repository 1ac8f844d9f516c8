/** The limits agree with each other, and back-off stays within its bounds. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  decodeLimits,
  defaultSessionLimits,
  encodeLimits,
  hardSessionLimits,
  policy,
  retryDelayMs,
  retryWaitMs,
} from '../../src/core/policy.ts'

const attempts = fc.integer({ min: 1, max: 100_000 })
const randoms = fc.double({ min: 0, max: 1, noNaN: true })

describe('retryDelayMs', () => {
  test('retryDelayMs is between half of the full delay and the full delay', () => {
    fc.assert(
      fc.property(attempts, randoms, (attempt, random) => {
        const full = Math.min(policy.retryBackoffMsMax, policy.retryBackoffMs * 2 ** Math.min(attempt - 1, 60))
        const delay = retryDelayMs(attempt, random)
        expect(delay).toBeGreaterThanOrEqual(Math.floor(full / 2))
        expect(delay).toBeLessThanOrEqual(full)
        expect(Number.isInteger(delay)).toBe(true)
      }),
    )
  })

  test('doubles with each attempt and stops at 30 s', () => {
    expect([1, 2, 3, 4, 9, 10, 1_000].map((attempt) => retryDelayMs(attempt, 1))).toEqual([
      200, 400, 800, 1_600, 30_000, 30_000, 30_000,
    ])
  })

  test('retryDelayMs is random: two workers do not retry at the same time', () => {
    expect(retryDelayMs(5, 0)).toBeLessThan(retryDelayMs(5, 0.9))
  })
})

describe('limits', () => {
  test('come back from a record unchanged', () => {
    const limit = fc.integer({ min: 0, max: 100_000 })
    fc.assert(
      fc.property(fc.record({ workers: limit, children: limit, depth: limit, mailbox: limit }), (limits) => {
        expect(decodeLimits(encodeLimits(limits))).toEqual(limits)
      }),
    )
  })

  test('defaults are below the largest allowed values', () => {
    for (const name of Object.keys(defaultSessionLimits) as (keyof typeof defaultSessionLimits)[])
      expect(defaultSessionLimits[name]).toBeLessThanOrEqual(hardSessionLimits[name])
  })

  test('the longest path of ancestors fits into one call of unpack', () => {
    expect(hardSessionLimits.depth * 4).toBeLessThan(7_000)
  })
})

describe('times agree with each other', () => {
  test('a lease lasts longer than several renewals and its margin', () => {
    expect(policy.leaseMs - policy.leaseMarginMs).toBeGreaterThan(2 * policy.renewEveryMs)
  })

  test('a node is forgotten after its leases and wake-ups', () => {
    expect(policy.nodeForgottenMs).toBeGreaterThan(policy.leaseMs)
    expect(policy.nodeForgottenMs).toBeGreaterThan(policy.wakeupMs)
  })

  test('a turn counts as busy long before its wake-up is stale', () => {
    expect(policy.busyAfterMs * 4).toBeLessThan(policy.wakeupMs)
  })
})

describe('retryWaitMs', () => {
  test.each([
    [0, 0],
    [10.5, 11],
    [-5, 0],
    [Number.POSITIVE_INFINITY, 366 * 24 * 3_600_000],
  ])('an error that asks for %d ms waits for %d', (given, ms) => {
    expect(retryWaitMs(given, 1, 0.5)).toBe(ms)
  })

  // The code of users may be without types.
  test.each([undefined, Number.NaN, null, 'soon', '500', {}])(
    '%s is not a time, and the rule of delays decides',
    (given) => {
      expect(retryWaitMs(given as number, 3, 0.5)).toBe(retryDelayMs(3, 0.5))
    },
  )
})
