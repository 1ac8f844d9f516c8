/** Time limits of calls: what comes in time is given, what does not come is told, and a busy process is no silent Redis. */
import { performance } from 'node:perf_hooks'
import { describe, expect, test } from 'vitest'
import { Deadlines } from '../../src/store/deadlines.ts'

const never = new Promise<never>(() => {})

/** Computes, and does nothing else, for so long. */
function compute(ms: number): void {
  const until = performance.now() + ms
  while (performance.now() < until);
}

describe('a deadline', () => {
  test('gives what comes in time, and the error that does', async () => {
    const deadlines = new Deadlines()
    expect(await deadlines.within(Promise.resolve(7), 1_000)).toBe(7)
    await expect(deadlines.within(Promise.reject(new Error('not today')), 1_000)).rejects.toThrow('not today')
  })

  test('tells what does not come, each after its own time', async () => {
    const deadlines = new Deadlines()
    const told: string[] = []
    const tell = (error: Error) => void told.push(error.message)
    await Promise.all([
      deadlines.within(never, 120.4).catch(tell),
      deadlines.within(never, 30).catch(tell),
      deadlines.within(Promise.resolve(), 1).catch(tell),
    ])
    expect(told).toEqual(['no answer within 30 ms', 'no answer within 120 ms'])
  })

  test('is not over while the process computes: the answer may be there (D-a)', async () => {
    const deadlines = new Deadlines()
    const { promise, resolve } = Promise.withResolvers<string>()
    setTimeout(resolve, 300, 'answered')
    const waiting = deadlines.within(promise, 400)
    compute(900)
    expect(await waiting).toBe('answered')
  })

  test('that begins after a long computation has all of its time', async () => {
    const deadlines = new Deadlines()
    const first = deadlines.within(never, 600).catch(() => 'late')
    compute(500)
    const { promise, resolve } = Promise.withResolvers<string>()
    setTimeout(resolve, 330, 'answered')
    expect(await deadlines.within(promise, 400)).toBe('answered')
    expect(await first).toBe('late')
  })
})
