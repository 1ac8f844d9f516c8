/** What the screen of costs writes of an hour. */
import { expect, test } from 'vitest'
import { hourText } from '../../src/page/screens/costs/hour-text.ts'

test.each([
  ['Europe/Berlin', '2026-10-25T00:00Z', '2026-10-25T01:00Z'],
  ['America/New_York', '2026-11-01T05:00Z', '2026-11-01T06:00Z'],
])('the two hours of one name, when clocks in %s are set back, are told apart', (zone, ...hours) => {
  const texts = hours.map((hour) => hourText(hour, zone))
  expect(new Set(texts).size).toBe(2)
  expect(new Set(texts.map((text) => text.match(/\d\d:\d\d/)?.[0])).size).toBe(1)
})
