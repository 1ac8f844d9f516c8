/** Work that may ignore its signal is waited for until the signal fires. */
import { expect, test } from 'vitest'
import { beforeAbort } from '../../src/core/before-abort.ts'

const never = new Promise<never>(() => {})

test('work gives its value or its error while its signal has not fired', async () => {
  const { signal } = new AbortController()
  expect(await beforeAbort(Promise.resolve(7), signal)).toBe(7)
  await expect(beforeAbort(Promise.reject(new Error('no')), signal)).rejects.toThrow('no')
})

test.each(['before the work begins', 'while it goes on'])(
  'work that never ends is given up when its signal fires %s',
  async (when) => {
    const stop = new AbortController()
    if (when === 'before the work begins') stop.abort('enough')
    const waiting = beforeAbort(never, stop.signal)
    stop.abort('enough')
    await expect(waiting).rejects.toBe('enough')
  },
)
