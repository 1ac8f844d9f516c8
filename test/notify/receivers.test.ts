/** How many requests a receiver gets that accepts none, and when the others come again. */
import { expect, test } from 'vitest'
import { Receivers } from '../../src/notify/receivers.ts'

test('a receiver that accepts nothing gets three requests at a time, until it accepts one (RECEIVER-1)', () => {
  const receivers = new Receivers()
  expect(receivers.begin('one')).toBeNull()
  receivers.end('one', false)
  for (let nth = 0; nth < 3; nth++) expect(receivers.begin('one')).toBeNull()
  expect(receivers.begin('one')).toBeGreaterThan(0)
  expect(receivers.begin('other')).toBeNull()
  receivers.end('one', true)
  for (let nth = 0; nth < 20; nth++) expect(receivers.begin('one')).toBeNull()
})

test('what is too much for a receiver comes again one after the other, however much it is (RECEIVER-2)', () => {
  const receivers = new Receivers()
  receivers.begin('one', 0)
  receivers.end('one', false)
  for (let nth = 0; nth < 3; nth++) receivers.begin('one', 0)
  const back = Array.from({ length: 1_000 }, () => receivers.begin('one', 1))
  expect(back).toEqual(back.map((_, nth) => 10_000 + 50 * nth))
  // Those that come again find no place, and stand behind all others.
  expect(receivers.begin('one', 10_001)).toBe(10_001 + 50 * 999 + 50 - 10_001)
  expect(receivers.begin('one', 100_000)).toBe(10_000)
})

test('of receivers that refuse the newest thousand are remembered, and each that has requests under way', () => {
  const receivers = new Receivers()
  const refuse = (goal: string) => {
    receivers.begin(goal)
    receivers.end(goal, false)
  }
  const isRemembered = (goal: string) => Array.from({ length: 4 }, () => receivers.begin(goal)).at(-1) !== null
  for (let nth = 0; nth <= 1_000; nth++) refuse(`${nth}`)
  expect(['0', '1'].map(isRemembered)).toEqual([false, true])
  for (let nth = 2_000; nth <= 3_000; nth++) refuse(`${nth}`)
  expect(['1', '2'].map(isRemembered)).toEqual([true, false])
})
