import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { InputError } from '../../src/core/errors.ts'
import { formatDuration, formatMoment, formatTime, momentAndDistance, parseDuration } from '../../src/words/duration.ts'

describe('parseDuration', () => {
  it.each([
    ['0', 0],
    ['250ms', 250],
    ['90s', 90_000],
    ['12h', 43_200_000],
    ['7d', 604_800_000],
    ['2w', 1_209_600_000],
    ['1h30m', 5_400_000],
    ['1.5h', 5_400_000],
    [' 5m ', 300_000],
  ])('reads %s', (text, ms) => {
    expect(parseDuration(text)).toBe(ms)
  })

  it.each(['', '7', '7 d', '-1d', '1y', 'soon', '1h 30m', '9999999999999999999d'])('refuses %j', (text) => {
    expect(() => parseDuration(text)).toThrow(InputError)
  })
})

describe('formatDuration', () => {
  it.each([
    [0, '0ms'],
    [-50, '0ms'],
    [180, '180ms'],
    [4_250, '4.2s'],
    [9_999, '9.9s'],
    [65_000, '1m 5s'],
    [3_600_000, '1h'],
    [277_200_000, '3d 5h'],
    [86_400_000 + 5_000, '1d'],
  ])('shows %d ms as %s', (ms, text) => {
    expect(formatDuration(ms)).toBe(text)
  })

  it('never rounds up', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 10 ** 12 }), (ms) => {
        const text = formatDuration(ms)
        expect(parseDuration(text.replaceAll(' ', ''))).toBeLessThanOrEqual(ms)
      }),
    )
  })
})

describe('moments', () => {
  it('use the time zone of the reader', () => {
    const at = new Date(2026, 10, 21, 9, 5, 7).getTime()
    expect(formatTime(at)).toBe('09:05:07')
    expect(formatMoment(at)).toBe('2026-11-21 09:05:07')
  })

  it('say how long ago they were, or how far ahead they are', () => {
    expect(momentAndDistance(Date.now() + 86_400_000 + 30_000)).toMatch(/ \(in 1d\)$/)
    expect(momentAndDistance(Date.now() - 86_400_000 - 30_000)).toMatch(/ \(1d ago\)$/)
    expect(momentAndDistance(null)).toBeNull()
  })
})
