/** The time of the server, as the page learns it from answers that say it to the second. */
import { afterEach, expect, test, vi } from 'vitest'
import { noteServerTime, serverTimeNow } from '../../src/page/api/server-time.ts'

afterEach(() => vi.restoreAllMocks())

const noon = Date.parse('2026-01-01T12:00:00Z')

/** An answer that says this time of the server arrives at this time of the reader's machine. Returns by how much the page has the server ahead. */
function answered(server: number, here: number): number {
  vi.spyOn(Date, 'now').mockReturnValue(here)
  noteServerTime({ headers: new Headers({ date: new Date(server).toUTCString() }) })
  return serverTimeNow(0)
}

test('the time of the server follows its answers, and neither their rounding nor their way moves it back (SERVER-TIME-2)', () => {
  expect(answered(noon, noon + 900)).toBe(0)
  expect(answered(noon, noon + 1_900)).toBe(0)
  expect(answered(noon + 3_600_000, noon + 400)).toBe(3_599_600)
  expect(answered(noon + 3_601_000, noon + 1_950)).toBe(3_599_600)
  expect(answered(noon + 3_602_000, noon + 2_100)).toBe(3_599_900)
  expect(answered(noon, noon + 3_600_100)).toBe(-3_600_100)
  noteServerTime(Response.json({}))
  expect(serverTimeNow(0)).toBe(-3_600_100)
})
