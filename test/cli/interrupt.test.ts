/** Ctrl+C while something begins: what comes of it later is put away before the command ends. */
import { afterEach, expect, test } from 'vitest'
import { Interrupt, Interrupted } from '../../src/cli/interrupt.ts'

let interrupt: Interrupt | undefined
afterEach(() => interrupt?.[Symbol.dispose]())

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
