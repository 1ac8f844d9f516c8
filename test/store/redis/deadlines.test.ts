/** Time limits of calls: what comes in time is given, what does not come is told, and a busy process is no silent Redis. */
import { performance } from 'node:perf_hooks'
import { describe, expect, test, vi } from 'vitest'
import { Deadlines } from '../../../src/store/redis/deadlines.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const never = new Promise<never>(() => {})

/** Keeps the process busy for so long. */
function compute(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

describe('a deadline', () => {
  test('a deadline passes on an answer, or an error, that comes in time', async () => {
    const deadlines = new Deadlines()
    expect(await deadlines.within(Promise.resolve(7), 1_000)).toBe(7)
    await expect(deadlines.within(Promise.reject(new Error('not today')), 1_000)).rejects.toThrow('not today')
  })

  test('a deadline names what did not come, each after its own time', async () => {
    const deadlines = new Deadlines()
    const told: string[] = []
    const tell = (error: Error) => void told.push(error.message)
    // One look counts 100 ms at most: no two of these are due at the same look.
    await Promise.all([
      deadlines.within(never, 250.4).catch(tell),
      deadlines.within(never, 30).catch(tell),
      deadlines.within(Promise.resolve(), 1).catch(tell),
    ])
    expect(told).toEqual(['no answer within 30 ms', 'no answer within 250 ms'])
  })

  test('a deadline does not end while the process computes: the answer may be there (DEADLINE-1)', async () => {
    const deadlines = new Deadlines()
    const { promise, resolve } = Promise.withResolvers<string>()
    setTimeout(resolve, 300, 'answered')
    const waiting = deadlines.within(promise, 400)
    compute(900)
    expect(await waiting).toBe('answered')
  })

  test('a deadline that begins after a long computation has all of its time', async () => {
    const deadlines = new Deadlines()
    const first = deadlines.within(never, 600).catch(() => 'late')
    compute(500)
    const { promise, resolve } = Promise.withResolvers<string>()
    setTimeout(resolve, 330, 'answered')
    expect(await deadlines.within(promise, 400)).toBe('answered')
    expect(await first).toBe('late')
  })

  test('a deadline that begins after a long computation has no more than its time', async () => {
    const deadlines = new Deadlines()
    const told: string[] = []
    const tell = (error: Error) => void told.push(error.message)
    const before = deadlines.within(never, 400).catch(tell)
    compute(500)
    await Promise.all([before, deadlines.within(never, 50).catch(tell)])
    expect(told).toEqual(['no answer within 50 ms', 'no answer within 400 ms'])
  })

  test('a deadline leaves no timer, whether all answers came or not, because a timer would keep the process alive', async () => {
    using set = vi.spyOn(globalThis, 'setInterval')
    using cleared = vi.spyOn(globalThis, 'clearInterval')
    const outcomes = [async () => 7, () => Promise.reject(new Error('no')), () => never]
    for (const [index, outcome] of outcomes.entries()) {
      // Deadlines of other files in this process begin timers, too: its own is the one that this call begins.
      const before = set.mock.results.length
      const within = new Deadlines().within(outcome(), index === 2 ? 30 : 600_000)
      const timer: unknown = set.mock.results[before]?.value
      expect(timer).toBeDefined()
      await within.catch(() => {})
      await waitUntil('its timer has ended', () => cleared.mock.calls.some(([one]) => one === timer))
    }
  })
})
