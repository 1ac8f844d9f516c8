import { describe, expect, it } from 'vitest'
import { tokensText } from '../../src/words/amounts.ts'

describe('tokensText', () => {
  it('shows at most four digits and a unit', () => {
    const counts = [0, 999, 1_000, 1_049, 12_345, 999_949, 999_951, 1_234_567, 2_000_000_000]
    expect(counts.map(tokensText)).toEqual(['0', '999', '1k', '1k', '12.3k', '999.9k', '1M', '1.2M', '2G'])
  })
})
