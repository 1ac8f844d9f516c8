/** The tally of an agent: read back as written, and never more than 64 bytes (TALLY-1, TALLY-2). */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type AgentTally,
  decodeTally,
  emptyTally,
  encodeTally,
  reportedUsage,
} from '../../../../src/core/history/run/agent-tally.ts'

const count = (most: number) => fc.integer({ min: 0, max: most })
const tallies: fc.Arbitrary<AgentTally> = fc.record({
  iterations: count(1_000_000),
  modelCalls: count(60_000_000),
  inputTokens: count(2_000_000_000_000),
  outputTokens: count(2_000_000_000_000),
  toolCalls: fc.integer({ min: 1, max: 60_000_000 }),
  cacheReadTokens: count(78_000_000_000),
  cacheWriteTokens: count(78_000_000_000),
  reasoningTokens: count(78_000_000_000),
  ignoredEvents: count(46_000),
})

/** The numbers of a tally in the order in which they are written, except failed calls. */
const names =
  'iterations modelCalls inputTokens outputTokens toolCalls cacheReadTokens cacheWriteTokens reasoningTokens ignoredEvents'.split(
    ' ',
  )

/** Any numbers in every field. */
function filled(value: number): AgentTally {
  return Object.fromEntries(names.map((name) => [name, value])) as unknown as AgentTally
}

describe('a tally', () => {
  test('a tally is read back as it was written', () => {
    fc.assert(
      fc.property(tallies, (tally) => {
        expect(decodeTally(encodeTally(tally))).toEqual(tally)
      }),
    )
  })

  test('a tally keeps its numbers apart', () => {
    const tally = Object.fromEntries(names.map((name, index) => [name, index + 1]))
    expect(encodeTally(tally as unknown as AgentTally)).toBe('a 1 2 3 4 5 6 7 8 9')
  })

  test('a tally never takes more than 64 bytes, and a number that is too large stays at the largest possible (TALLY-1)', () => {
    for (const most of [Number.MAX_SAFE_INTEGER, Number.MAX_VALUE, Number.POSITIVE_INFINITY]) {
      const text = encodeTally(filled(most))
      expect(Buffer.byteLength(text)).toBe(64)
      expect(text).toBe('a zzzz zzzzz zzzzzzzz zzzzzzzz zzzzz zzzzzzz zzzzzzz zzzzzzz zzz')
      expect(encodeTally(decodeTally(text) as AgentTally)).toBe(text)
    }
    fc.assert(
      fc.property(fc.double(), (value) => {
        const text = encodeTally(filled(value))
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(64)
        expect(decodeTally(text)).not.toBeNull()
      }),
    )
  })

  test('a tally keeps its failed calls in the bytes that are left (TALLY-1)', () => {
    const failed = { ...emptyTally, modelCalls: 3, failedModelCalls: 2 }
    expect(encodeTally(failed)).toBe('a 0 3 0 0 0 0 0 0 0 2')
    expect(decodeTally(encodeTally(failed))).toEqual(failed)
    expect(reportedUsage(failed)).toMatchObject({ modelCalls: 1, failedModelCalls: 2 })
    fc.assert(
      fc.property(tallies, count(1_000_000_000), (tally, failedModelCalls) => {
        const text = encodeTally({ ...tally, failedModelCalls })
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(64)
        expect(decodeTally(text)).toMatchObject(tally)
      }),
    )
    expect(encodeTally({ ...filled(Number.MAX_VALUE), failedModelCalls: 9 })).toBe(
      encodeTally(filled(Number.MAX_VALUE)),
    )
  })

  test('a tally reads impossible counts of a provider as 0', () => {
    for (const odd of [-1, Number.NaN, 0.9, Number.NEGATIVE_INFINITY])
      expect(encodeTally(filled(odd))).toBe(encodeTally(emptyTally))
  })

  test('a tally is written without the zeros at its end, except the first number', () => {
    expect(encodeTally(emptyTally)).toBe('a 0')
    expect(encodeTally({ ...emptyTally, iterations: 1, inputTokens: 2 })).toBe('a 1 0 2')
    expect(decodeTally('a 1 0 2')).toEqual({ ...emptyTally, iterations: 1, inputTokens: 2 })
    expect(decodeTally('a 0')).toEqual(emptyTally)
  })

  test('a tally with further numbers of a newer version is read', () => {
    expect(decodeTally('a 1 2 3 4 5 6 7 8 9 a b')).toEqual(decodeTally('a 1 2 3 4 5 6 7 8 9 a'))
  })

  test('a tally is told apart from the state of a handler and from a damaged text (TALLY-2)', () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        expect(decodeTally(json)).toBeNull()
      }),
    )
    const others = ['', 'a', 'a ', '@', 'a 1 - 3', 'a 1 2 3 4 5 6 7 -', 'a 1 2 3 4 5 6 7 8 ', 'b 1 2 3 4 5 6 7 8 9']
    expect(others.filter((text) => decodeTally(text) !== null)).toEqual([])
  })
})
