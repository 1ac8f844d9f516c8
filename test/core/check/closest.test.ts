/** "Did you mean": near words are found, others are not. */
import { describe, expect, test } from 'vitest'
import { closest, didYouMean } from '../../../src/core/check/closest.ts'

describe('closest', () => {
  test('finds the word that was meant', () => {
    const kinds = ['surveyor', 'reader', 'counter']
    expect(closest('surveyer', kinds)).toBe('surveyor')
    expect(closest('raeder', kinds)).toBe('reader')
    expect(closest('Reader', kinds)).toBe('reader')
    expect(closest('reader', ['READER'])).toBe('READER')
    expect(closest('writer', kinds)).toBeUndefined()
    expect(closest('x', [])).toBeUndefined()
  })

  test('finds the nearest of several words, in any order', () => {
    expect(closest('counter', ['mounted', 'counters'])).toBe('counters')
    expect(closest('counter', ['counters', 'mounted'])).toBe('counters')
  })

  test('closest counts two swapped neighbours as one mistake, but no other two letters', () => {
    expect(closest('sl', ['ls'])).toBe('ls')
    for (const other of ['lx', 'xs']) expect(closest('sl', [other])).toBeUndefined()
    expect(closest('abc', ['cba'])).toBeUndefined()
  })

  test('gives a sentence, or an empty text', () => {
    expect(didYouMean('raeder', ['reader'])).toBe(' Did you mean reader?')
    expect(didYouMean('writer', ['reader'])).toBe('')
  })
})
