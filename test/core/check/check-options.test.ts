/** A misspelt option or a value of a wrong type gives one sentence. Quoting a value calls no code of the value. */
import { describe, expect, test } from 'vitest'
import {
  anything,
  checkOptions,
  keyRule,
  signalRule,
  wholeNumberRule,
  yesOrNo,
} from '../../../src/core/check/check-options.ts'
import { preview } from '../../../src/core/check/preview.ts'
import { ConfigError, InputError } from '../../../src/core/errors.ts'

const rules = {
  key: keyRule,
  count: wholeNumberRule(1, 9),
  flag: yesOrNo,
  signal: signalRule,
  address: { expects: 'an address', isSecret: true, fits: (value: unknown) => value === 'good' },
  needed: { ...yesOrNo, isRequired: true },
  rest: anything,
}
const check = (given: unknown) => () => checkOptions('make', given, rules, InputError)

describe('checkOptions', () => {
  test('accepts valid options; undefined means absent', () => {
    const { signal } = new AbortController()
    for (const more of [{}, { key: 'k', count: 9, flag: false, signal, address: 'good', rest: 5 }, { key: undefined }])
      expect(check({ needed: true, ...more })).not.toThrow()
  })

  test.each([
    [{ coutn: 1 }, /^make does not know the option "coutn"; it takes key, count, .*, rest\. Did you mean count\?$/],
    [{ COUNT: 1 }, /Did you mean count\?$/],
    [{ colour: 1 }, /^make does not know the option "colour"; it takes [^.]*\.$/],
    // The names of what every object inherits are no options either.
    [{ toString: 1 }, /does not know the option "toString"/],
    [{ needed: true, key: '' }, /^key of make must be a text that is not empty, not ""\.$/],
    [{ needed: true, key: null }, /^key of make must be a text that is not empty, not null\.$/],
    [{ needed: true, count: 0 }, /^count of make must be a whole number from 1 to 9, not 0\.$/],
    [{ needed: true, count: 10 }, /not 10\.$/],
    [{ needed: true, count: 1.5 }, /not 1\.5\.$/],
    [{ needed: true, count: '5' }, /not "5"\.$/],
    [{ needed: true, flag: 'yes' }, /^flag of make must be true or false, not "yes"\.$/],
    [{ needed: true, signal: {} }, /^signal of make must be an AbortSignal, not an object\.$/],
    [{ needed: true, address: 5 }, /^address of make must be an address, not 5\.$/],
    [{}, /^needed of make must be true or false, not undefined\.$/],
    [null, /^make takes an object with key, count, flag, signal, address, needed, rest, not null\.$/],
    [5, /not 5\.$/],
  ])('refuses %j', (given, message) => {
    expect(check(given)).toThrow(InputError)
    expect(check(given)).toThrow(message)
  })

  test('quotes no text that may be a password', () => {
    for (const given of ['s3cret', ['s3cret'], { address: 's3cret' }, { address: ['s3cret'] }])
      expect(check(given)).toThrow(expect.objectContaining({ message: expect.not.stringContaining('s3cret') }))
  })

  test('checkOptions throws an error of the class that its caller names', () => {
    expect(() => checkOptions('make', { keys: 1 }, { key: keyRule }, ConfigError)).toThrow(ConfigError)
  })
})

describe('a value', () => {
  const circle: unknown[] = []
  circle.push(circle)
  test.each([
    ['x'.repeat(80), `"${'x'.repeat(80)}"`],
    ['x'.repeat(81), `"${'x'.repeat(80)}"… (81 characters)`],
    [undefined, 'undefined'],
    [Number.NaN, 'NaN'],
    [1n, '1n'],
    [Symbol('s'), 'Symbol(s)'],
    [() => 1, 'a function'],
    [Object.create(null), 'an object'],
    [['a', 1, {}], '["a", 1, an object]'],
    [[1, 2, 3, 4, 5, 6], '[1, 2, 3, 4, 5, …]'],
    [circle, '[a list]'],
  ])('a value is quoted in a few words (%#)', (value, words) => {
    expect(preview(value)).toBe(words)
  })
})
