/** Errors of another copy of the package in the same process, and of another realm, are recognised as what they say. */
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'
import * as errors from '../../src/core/errors.ts'
import { toFailure } from '../../src/core/worker/run/failure.ts'
import { defineWorker } from '../../src/index.ts'
import { TestTroupe } from '../support/test-troupe.ts'

// The query makes Node load the module a second time.
const copyUrl = '../../src/core/errors.ts?another-copy'
const copy = (await import(copyUrl)) as typeof errors

const made: readonly [keyof typeof errors, (of: typeof errors) => errors.RuntimeError][] = [
  ['ConfigError', (of) => new of.ConfigError('x')],
  ['InputError', (of) => new of.InputError('x')],
  ['NotFoundError', (of) => new of.NotFoundError('kind_unknown', 'x')],
  ['ConflictError', (of) => new of.ConflictError('session_finished', 'x')],
  ['LimitError', (of) => new of.LimitError('mailbox_full', 'x')],
  ['TransientError', (of) => new of.TransientError('x', { retryAfterMs: 7 })],
  ['LeaseLostError', (of) => new of.LeaseLostError('x')],
  ['CancelledError', (of) => new of.CancelledError('x')],
  ['TimeoutError', (of) => new of.TimeoutError('x')],
  ['TerminalError', (of) => new of.TerminalError('x')],
  ['InvariantError', (of) => new of.InvariantError('x')],
]

type Classes = Readonly<Record<string, abstract new (...args: never[]) => unknown>>
const [own, others] = [errors, copy] as unknown as readonly [Classes, Classes]

describe('an error of another copy of the package', () => {
  test.each(made)('a %s is an instance of this class of this copy, and of no other', (name, make) => {
    const error = make(copy)
    expect(others[name]).not.toBe(own[name])
    expect(error).toBeInstanceOf(errors.RuntimeError)
    expect(error).toBeInstanceOf(Error)
    const classes = made.filter(([other]) => error instanceof (own[other] ?? Map))
    expect(classes.map(([other]) => other)).toEqual([name])
    expect(errors.toRuntimeError(error)).toBe(error)
    expect(toFailure(error, 'handler', 1, 0)).toEqual(toFailure(make(errors), 'handler', 1, 0))
  })

  test('an error of a class that a user derived is an instance of its bases, and not of a class of the same name', () => {
    class Declined extends copy.TerminalError {}
    const here = { Declined: class Declined extends errors.TerminalError {} }
    const error = new Declined('no')
    expect(error).toBeInstanceOf(errors.TerminalError)
    expect(error).toBeInstanceOf(Declined)
    expect(error).not.toBeInstanceOf(here.Declined)
    expect(new here.Declined('no')).not.toBeInstanceOf(Declined)
  })

  test('an error of another copy of the package ends a run at once, with its code, or asks for its retry', async () => {
    let received = 0
    const workers = {
      terminal: defineWorker({
        receive() {
          received++
          throw new copy.TerminalError('declined', { code: 'poison' })
        },
      }),
      transient: defineWorker({
        receive(_, self) {
          if (self.attempt === 1) throw new copy.TransientError('busy', { retryAfterMs: 1 })
          self.reply(self.attempt)
        },
      }),
    }
    await using troupe = await TestTroupe.start({ workers })
    expect(await troupe.run('terminal')).toMatchObject({ failure: { code: 'poison', message: 'declined' } })
    expect(received).toBe(1)
    const session = await troupe.create('transient')
    expect(await session.result()).toMatchObject({ value: 2 })
    expect(await troupe.history(session.rootId)).toMatchObject([{ retryMs: 1 }, {}, {}])
  })
})

test('a value that is no error of troupe is an instance of none of its classes', () => {
  const { proxy, revoke } = Proxy.revocable(new errors.TerminalError('x'), {})
  revoke()
  for (const value of [null, 7, 'x', {}, new Error('x'), { constructor: errors.TerminalError }, proxy])
    expect(errors.toRuntimeError(value)).toBeInstanceOf(errors.TransientError)
  expect({ constructor: errors.TerminalError } instanceof errors.TerminalError).toBe(false)
})

describe('an error of another realm', () => {
  test.each([
    ['new TypeError("no luck")', 'no luck'],
    ['new Error("fetch failed", { cause: new Error("no route") })', 'fetch failed: no route'],
    ['new AggregateError([new Error("a"), new Error("b")])', 'a; b'],
  ])('an error of %s is read as an error', (code, message) => {
    const thrown: unknown = runInNewContext(code)
    expect(thrown).not.toBeInstanceOf(Error)
    expect(errors.toRuntimeError(thrown)).toMatchObject({ code: 'handler_failed', message, retryable: true })
  })
})
