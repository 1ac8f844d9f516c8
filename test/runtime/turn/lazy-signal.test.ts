/** A signal that is made late says the same as one that was there from the start. */
import { describe, expect, test } from 'vitest'
import { LazySignal } from '../../../src/runtime/turn/lazy-signal.ts'

const reason = new Error('enough')

describe('a lazy signal', () => {
  test('a lazy signal that was asked for before the abort fires with it; one asked for later has fired already; both have the first reason', () => {
    const [early, late] = [new LazySignal(), new LazySignal()]
    const { signal } = early
    expect(signal.aborted).toBe(false)
    for (const lazy of [early, late]) {
      lazy.abort(reason)
      lazy.abort(new Error('too late'))
      expect(lazy.aborted).toBe(true)
    }
    expect(signal).toMatchObject({ aborted: true, reason })
    expect(late.signal).toMatchObject({ aborted: true, reason })
  })

  test('a lazy signal calls each listener once, even one that comes late, and none that was removed', () => {
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
