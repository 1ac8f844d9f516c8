/** Ctrl+C while something begins: what comes of it later is put away before the command ends. */
import { afterEach, expect, test, vi } from 'vitest'
import { Interrupt, Interrupted } from '../../../src/cli/terminal/interrupt.ts'

let interrupt: Interrupt | undefined
afterEach(() => {
  interrupt?.[Symbol.dispose]()
  vi.useRealTimers()
})

const press = () => void process.emit('SIGHUP', 'SIGHUP')

test('what comes too late is put away again, and only then the command ends', async () => {
  interrupt = new Interrupt(() => {})
  const done: string[] = []
  const { promise, resolve } = Promise.withResolvers<AsyncDisposable>()
  const waiting = interrupt.orThrow(promise).catch((thrown: unknown) => done.push((thrown as Error).name))
  press()
  await new Promise((passed) => setImmediate(passed))
  expect(done).toEqual([])
  resolve({
    [Symbol.asyncDispose]() {
      done.push('put away')
      return Promise.resolve()
    },
  })
  await waiting
  expect(done).toEqual(['put away', 'Interrupted'])
})

test.each([
  ['a value that holds nothing', () => Promise.resolve(7)],
  ['what fails', () => Promise.reject(new Error('not today'))],
])('%s needs no putting away', async (_, begin) => {
  interrupt = new Interrupt(() => {})
  press()
  await expect(interrupt.orThrow(begin())).rejects.toThrow(Interrupted)
})

test('what comes in time is given, and what fails fails', async () => {
  interrupt = new Interrupt(() => {})
  expect(await interrupt.orThrow(Promise.resolve(7))).toBe(7)
  await expect(interrupt.orThrow(Promise.reject(new Error('not today')))).rejects.not.toBeInstanceOf(Interrupted)
})

test('a second signal ends the process, unless it is the same key press again', () => {
  const exit = vi.spyOn(process, 'exit').mockReturnValue(undefined as never)
  const now = vi.spyOn(performance, 'now').mockReturnValue(1_000)
  interrupt = new Interrupt(() => {})
  press()
  now.mockReturnValue(1_100)
  press()
  expect(exit).not.toHaveBeenCalled()
  now.mockReturnValue(1_101)
  press()
  expect(exit.mock.calls).toEqual([[129]])
})

test('what does not end well in its time is ended', () => {
  vi.useFakeTimers()
  const exit = vi.spyOn(process, 'exit').mockReturnValue(undefined as never)
  interrupt = new Interrupt(() => {}, 500)
  vi.advanceTimersByTime(1_000)
  press()
  vi.advanceTimersByTime(499)
  expect(exit).not.toHaveBeenCalled()
  vi.advanceTimersByTime(1)
  expect(exit.mock.calls).toEqual([[129]])
})

test('what never comes, or cannot be put away, is not waited for long', async () => {
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
