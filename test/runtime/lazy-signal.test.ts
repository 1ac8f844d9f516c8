/** A signal that is made late says the same as one that was there from the start. */
import { describe, expect, test } from 'vitest'
import { LazySignal } from '../../src/runtime/lazy-signal.ts'

const reason = new Error('enough')

describe('a lazy signal', () => {
  test.each(['before', 'after'])('that is asked for %s the abort has fired, with the first reason', (when) => {
    const lazy = new LazySignal()
    if (when === 'before') expect(lazy.signal.aborted).toBe(false)
    lazy.abort(reason)
    lazy.abort(new Error('too late'))
    expect(lazy.aborted).toBe(true)
    expect(lazy.signal).toMatchObject({ aborted: true, reason })
  })

  test('tells each listener once, also one that comes late, and none that was taken away', () => {
    const lazy = new LazySignal()
    const heard: string[] = []
    lazy.whenAborted(() => heard.push('first'))
    const unlisten = lazy.whenAborted(() => heard.push('gone'))
    unlisten()
    lazy.abort(reason)
    lazy.abort(reason)
    lazy.whenAborted((given) => heard.push(given.message))
    expect(heard).toEqual(['first', 'enough'])
  })
})
