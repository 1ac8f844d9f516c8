/** "Did you mean": near words are found, others are not. */
import { describe, expect, test } from 'vitest'
import { closest, didYouMean } from '../../src/core/closest.ts'

describe('closest', () => {
  test('finds what was meant', () => {
    const kinds = ['surveyor', 'reader', 'counter']
    expect(closest('surveyer', kinds)).toBe('surveyor')
    expect(closest('raeder', kinds)).toBe('reader')
    expect(closest('Reader', kinds)).toBe('reader')
    expect(closest('writer', kinds)).toBeUndefined()
    expect(closest('x', [])).toBeUndefined()
  })

  test('is a sentence, or nothing', () => {
    expect(didYouMean('raeder', ['reader'])).toBe(' Did you mean reader?')
    expect(didYouMean('writer', ['reader'])).toBe('')
  })
})
