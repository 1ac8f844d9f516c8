/** Signals while an operation begins: its late value is released before the command ends. */
import { afterEach, expect, test, vi } from 'vitest'
import { Interrupt, Interrupted } from '../../../src/cli/terminal/interrupt.ts'

let interrupt: Interrupt | undefined
afterEach(() => {
  interrupt?.[Symbol.dispose]()
  vi.useRealTimers()
})

const press = () => void process.emit('SIGINT', 'SIGINT')

test('a value that arrives after the signal is released, and only then the command ends', async () => {
  interrupt = new Interrupt(() => {})
  const done: string[] = []
  const { promise, resolve } = Promise.withResolvers<AsyncDisposable>()
  const waiting = interrupt.orThrow(promise).catch((thrown: unknown) => done.push((thrown as Error).name))
  press()
  await new Promise((passed) => setImmediate(passed))
  expect(done).toEqual([])
  resolve({
    [Symbol.asyncDispose]() {
      done.push('released')
      return Promise.resolve()
    },
  })
  await waiting
  expect(done).toEqual(['released', 'Interrupted'])
})

test.each([
  ['a value without a resource', () => Promise.resolve(7)],
  ['an operation that fails', () => Promise.reject(new Error('not today'))],
])('%s needs no release', async (_, begin) => {
  interrupt = new Interrupt(() => {})
  press()
  await expect(interrupt.orThrow(begin())).rejects.toThrow(Interrupted)
})

test('an operation that ends before any signal keeps its outcome', async () => {
  interrupt = new Interrupt(() => {})
  expect(await interrupt.orThrow(Promise.resolve(7))).toBe(7)
  await expect(interrupt.orThrow(Promise.reject(new Error('not today')))).rejects.not.toBeInstanceOf(Interrupted)
})

/** With which codes the process was ended after a key press that follows `begin` at once, and after a later one. */
function endsAfter(begin: () => void) {
  const exit = vi.spyOn(process, 'exit').mockReturnValue(undefined as never)
  const now = vi.spyOn(performance, 'now').mockReturnValue(1_000)
  begin()
  now.mockReturnValue(1_100)
  press()
  const atOnce = exit.mock.calls.flat()
  now.mockReturnValue(1_101)
  press()
  return { atOnce, later: exit.mock.calls.flat() }
}

test('a second signal ends the process, unless it is the same key press again [1.25]', () => {
  interrupt = new Interrupt(() => {})
  expect(endsAfter(press)).toEqual({ atOnce: [], later: [130] })
})

test('the first Ctrl+C stops the answer that is being written, and the command goes on; the second ends the process (INT-3)', () => {
  const exit = vi.spyOn(process, 'exit').mockReturnValue(undefined as never)
  const now = vi.spyOn(performance, 'now').mockReturnValue(1_000)
  interrupt = new Interrupt(() => {})
  const stopped = vi.fn<() => void>()
  for (let answer = 1; answer <= 2; answer++) {
    using _stop = interrupt.stopFirst(stopped)
    press()
    press()
    expect(stopped).toHaveBeenCalledTimes(answer)
  }
  expect({ exitCode: interrupt.exitCode, isAborted: interrupt.signal.aborted }).toEqual({
    exitCode: undefined,
    isAborted: false,
  })
  using _stop = interrupt.stopFirst(stopped)
  press()
  now.mockReturnValue(1_101)
  expect(exit).not.toHaveBeenCalled()
  press()
  expect(exit.mock.calls).toEqual([[130]])
})

test('a command that does not end in time is ended', () => {
  vi.useFakeTimers()
  const exit = vi.spyOn(process, 'exit').mockReturnValue(undefined as never)
  interrupt = new Interrupt(() => {}, 500)
  vi.advanceTimersByTime(1_000)
  press()
  vi.advanceTimersByTime(499)
  expect(exit).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(exit.mock.calls).toEqual([[130]])
})

test('the wait is short for a value that never comes, or that cannot be released', async () => {
  vi.useFakeTimers()
  interrupt = new Interrupt(() => {})
  const never = new Promise<never>(() => {})
  const clinging = { [Symbol.asyncDispose]: () => never }
  const ends = Promise.allSettled([interrupt.orThrow(never)])
  press()
  const late = Promise.allSettled([interrupt.orThrow(Promise.resolve(clinging))])
  await vi.advanceTimersByTimeAsync(10_000)
  for (const end of [...(await ends), ...(await late)]) expect(end).toMatchObject({ reason: expect.any(Interrupted) })
})

test.each([
  ['without a terminal SIGHUP is ignored (INT-2)', false, undefined],
  ['with a terminal SIGHUP ends the command as a lost terminal (INT-2)', true, 129],
])('%s', (_, isTTY, exitCode) => {
  const before = process.stdin.isTTY
  process.stdin.isTTY = isTTY
  const signals: string[] = []
  interrupt = new Interrupt((signal) => signals.push(signal))
  process.emit('SIGHUP', 'SIGHUP')
  process.stdin.isTTY = before
  expect({ exitCode: interrupt.exitCode, isAborted: interrupt.signal.aborted, isHangUp: interrupt.isHangUp }).toEqual({
    exitCode,
    isAborted: isTTY,
    isHangUp: isTTY,
  })
  expect(signals).toEqual(isTTY ? ['SIGHUP'] : [])
})

test('the first Ctrl+C after a command began to end by itself ends the process, unless it is the same key press (INT-4)', () => {
  const onFirst = vi.fn<() => void>()
  const ending = new Interrupt(onFirst)
  interrupt = ending
  expect(endsAfter(() => ending.ending())).toEqual({ atOnce: [], later: [130] })
  expect(onFirst).not.toHaveBeenCalled()
})
