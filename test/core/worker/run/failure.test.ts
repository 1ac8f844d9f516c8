/** What user code throws, as an error with a code and as a failure that is recorded. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  CancelledError,
  ConfigError,
  InputError,
  InvariantError,
  RuntimeError,
  TerminalError,
  TimeoutError,
  TransientError,
  toRuntimeError,
} from '../../../../src/core/errors.ts'
import { failureMessageCharsMax, toFailure } from '../../../../src/core/worker/run/failure.ts'
import { anyText } from '../../support/any-text.ts'

describe('toRuntimeError', () => {
  test('keeps an error of troupe as it is', () => {
    for (const error of [new TerminalError('x'), new InputError('x'), new TransientError('x')])
      expect(toRuntimeError(error)).toBe(error)
  })

  test('toRuntimeError makes any other error a retryable failure of the handler, with the error as its cause', () => {
    const cause = new RangeError('off by one')
    expect(toRuntimeError(cause)).toMatchObject({
      code: 'handler_failed',
      retryable: true,
      message: 'off by one',
      cause,
    })
  })

  test('an error without a message is shown by its name', () => {
    expect(toRuntimeError(new RangeError()).message).toBe('RangeError')
  })

  test('toRuntimeError takes the reason from a cause, or from the errors that an error holds, if it has none', () => {
    const refused = new Error('connect ECONNREFUSED 127.0.0.1:1')
    const both = new AggregateError([new Error('connect ECONNREFUSED ::1:1'), refused])
    const messages: [Error, string][] = [
      [new TypeError('fetch failed', { cause: refused }), 'fetch failed: connect ECONNREFUSED 127.0.0.1:1'],
      [both, 'connect ECONNREFUSED ::1:1; connect ECONNREFUSED 127.0.0.1:1'],
      [
        new TypeError('fetch failed', { cause: both }),
        'fetch failed: connect ECONNREFUSED ::1:1; connect ECONNREFUSED 127.0.0.1:1',
      ],
      [new AggregateError([refused, refused], 'All were rejected'), `All were rejected: ${refused.message}`],
      [new Error('no order', { cause: 'it was removed' }), 'no order: it was removed'],
      [new Error(`no order (${refused.message})`, { cause: refused }), `no order (${refused.message})`],
      [new Error('no order', { cause: { code: 5 } }), 'no order'],
      [new Error('', { cause: refused }), refused.message],
      [Object.assign(new Error('x', { cause: refused }), { message: 404 }), `404: ${refused.message}`],
    ]
    for (const [error, message] of messages) expect(toRuntimeError(error).message).toBe(message)
  })

  test('toRuntimeError ends even if causes go round in a circle, or are too many', () => {
    const own = new Error('own')
    own.cause = own
    expect(toRuntimeError(own).message).toBe('own')
    let deep = new Error('cause 0')
    for (let n = 1; n < 100; n++) deep = new Error(`cause ${n}`, { cause: deep })
    expect(toRuntimeError(deep).message).toBe('cause 99: cause 98: cause 97: cause 96')
    const many = new AggregateError(Array.from({ length: 100 }, (_, n) => new Error(`cause ${n}`)))
    expect(toRuntimeError(many).message).toBe('cause 0; cause 1; cause 2; and 97 more')
  })

  test('a text that is thrown is the message', () => {
    expect(toRuntimeError('no luck').message).toBe('no luck')
  })

  test.each([
    ['', 'an empty text was thrown'],
    [Number.NaN, 'a value that is not an Error was thrown: NaN'],
    [Number.NEGATIVE_INFINITY, 'a value that is not an Error was thrown: -Infinity'],
    [null, 'a value that is not an Error was thrown: null'],
    [{ a: 1 }, 'a value that is not an Error was thrown: {"a":1}'],
  ])('a thrown %j is described as what it is', (thrown, message) => {
    expect(toRuntimeError(thrown).message).toBe(message)
  })

  test('a thrown value of any type becomes an error, and nothing makes the conversion throw', () => {
    const circular: Record<string, unknown> = Object.create(null)
    circular.self = circular
    const hostile = {
      toJSON() {
        throw new Error('no')
      },
      toString() {
        throw new Error('no')
      },
    }
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    const symbolic = Object.assign(new Error('x'), { message: Symbol('x') })
    const unreadable = Object.defineProperty(new Error('x'), 'message', { get: () => hostile.toString() })
    for (const thrown of [
      circular,
      hostile,
      proxy,
      symbolic,
      unreadable,
      undefined,
      null,
      0,
      1n,
      Symbol('x'),
      () => {},
      {},
      [],
    ])
      expect(toRuntimeError(thrown)).toBeInstanceOf(RuntimeError)
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true, withBigInt: true, withSparseArray: true }), (thrown) => {
        const error = toRuntimeError(thrown)
        expect(error).toBeInstanceOf(RuntimeError)
        expect(typeof error.message).toBe('string')
      }),
    )
  })
})

describe('toFailure', () => {
  test('toFailure gives plain data: code, message, origin, moment, attempt and whether it is retried', () => {
    expect(toFailure(new TerminalError('broken'), 'handler', 2, 1_000)).toEqual({
      code: 'run_failed',
      message: 'broken',
      origin: 'handler',
      at: 1_000,
      attempt: 2,
      retryable: false,
      thrownAt: expect.stringMatching(/failure\.test\.ts:\d+:\d+$/),
    })
  })

  test('a failure holds no key that was in the message', () => {
    expect(toFailure(new Error('refused with Bearer abcdef123456'), 'tool', 1, 0).message).toBe(
      'refused with Bearer [redacted]',
    )
  })

  test('a message is cut at a whole character', () => {
    const { message } = toFailure(new Error(`${'x'.repeat(failureMessageCharsMax - 1)}😀`), 'tool', 1, 0)
    expect(message).toBe(`${'x'.repeat(failureMessageCharsMax - 1)} … (2 more characters cut)`)
  })

  test('a long message is cut, and says how much is missing', () => {
    const failure = toFailure(new Error('x'.repeat(failureMessageCharsMax + 5)), 'tool', 1, 0)
    expect(failure.message).toBe(`${'x'.repeat(failureMessageCharsMax)} … (5 more characters cut)`)
    expect(toFailure(new Error('x'.repeat(failureMessageCharsMax)), 'tool', 1, 0).message).not.toContain('cut')
  })

  test('toFailure survives JSON whatever its message holds', () => {
    fc.assert(
      fc.property(anyText, (message) => {
        const failure = toFailure(new TransientError(message), 'model', 1, 0)
        expect(JSON.parse(JSON.stringify(failure))).toEqual(failure)
      }),
    )
  })
})

describe('errors', () => {
  test('carry their class as name, their code and whether trying again can help', () => {
    expect(new ConfigError('x')).toMatchObject({ name: 'ConfigError', code: 'config_invalid', retryable: false })
    expect(new InputError('x')).toMatchObject({ name: 'InputError', code: 'input_invalid', retryable: false })
    expect(new TimeoutError('x')).toMatchObject({ name: 'TimeoutError', code: 'deadline_exceeded', retryable: true })
    expect(new CancelledError('x')).toMatchObject({ name: 'CancelledError', code: 'cancelled', retryable: false })
    expect(new InvariantError('x')).toMatchObject({ name: 'InvariantError', code: 'bug', retryable: false })
    expect(new TransientError('x', { retryAfterMs: 5 })).toMatchObject({ code: 'handler_failed', retryAfterMs: 5 })
    expect(new TransientError('x', { details: { a: 1 } }).details).toEqual({ a: 1 })
  })

  test('errors have a cause only if the error had one', () => {
    expect('cause' in new InputError('x')).toBe(false)
    expect(new InputError('x', { cause: 'y' }).cause).toBe('y')
  })
})
