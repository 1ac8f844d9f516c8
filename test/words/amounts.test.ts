import { describe, expect, it } from 'vitest'
import { costText, tokensText } from '../../src/words/amounts.ts'

describe('tokensText', () => {
  it('shows at most four digits and a unit', () => {
    const counts = [0, 999, 1_000, 1_049, 12_345, 999_949, 999_951, 1_234_567, 2_000_000_000]
    expect(counts.map(tokensText)).toEqual(['0', '999', '1k', '1k', '12.3k', '999.9k', '1M', '1.2M', '2G'])
  })
})

describe('costText', () => {
  it.each([
    [{}, null],
    [{ costMicroUsd: 0 }, '$0.00'],
    [{ costMicroUsd: 12_400_000 }, '$12.40'],
    [{ costMicroUsd: 12_300 }, '$0.0123'],
    [{ costMicroUsd: 41 }, '$0.000041'],
    [{ costMicroUsd: 0, unpricedModelCalls: 1 }, '1 call whose price is unknown'],
    [{ costMicroUsd: 12_300, unpricedModelCalls: 2 }, '$0.0123 and 2 calls whose price is unknown'],
  ])('says %j as %j', (cost, text) => {
    expect(costText(cost)).toBe(text)
  })
})
