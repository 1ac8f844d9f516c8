/** Lists of call numbers as ranges. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { decodeCalls, encodeCalls } from '../../../src/store/record/call-ranges.ts'

test('any ascending list comes back unchanged', () => {
  const calls = fc
    .uniqueArray(fc.integer({ min: 1, max: 2_000 }), { maxLength: 500 })
    .map((list) => list.sort((a, b) => a - b))
  fc.assert(
    fc.property(calls, (list) => {
      expect(decodeCalls(encodeCalls(list))).toEqual(list)
    }),
  )
})

test('neighbouring calls are one range', () => {
  expect(encodeCalls([1, 2, 3, 5, 8, 9])).toBe('1-3,5,8-9')
  expect(encodeCalls([7])).toBe('7')
  expect(encodeCalls([])).toBe('')
  expect(decodeCalls('')).toEqual([])
  expect(decodeCalls('2')).toEqual([2])
})

test('the text of a thousand open calls stays short', () => {
  expect(encodeCalls(Array.from({ length: 1_000 }, (_, index) => index + 1))).toBe('1-1000')
})
