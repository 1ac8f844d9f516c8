/** Names of workers: which are valid, and the default name of a child. */
import { describe, expect, test } from 'vitest'
import { checkName, defaultName } from '../../../src/core/definition/worker-name.ts'
import { InputError } from '../../../src/core/errors.ts'

describe('the default name of a child', () => {
  test('the default name of a child is its kind and the number of its spawn', () =>
    expect(defaultName('reader', 3)).toBe('reader-3'))

  test.each([60, 61, 62, 63, 64])(
    'the default name of a child is valid for a kind of %i letters, and keeps the number',
    (length) => {
      const names = [1, 10, 123_456].map((call) => defaultName('k'.repeat(length), call))
      for (const name of names) expect(checkName(name)).toBe(name)
      expect(names.map((name) => name.replace(/^k+/, ''))).toEqual(['-1', '-10', '-123456'])
      expect(names[0]).toHaveLength(Math.min(64, length + 2))
    },
  )
})

describe('the name of a worker', () => {
  test.each(['a', 'Reader 1', 'x'.repeat(64), 'ü'.repeat(32)])('may be %j', (name) =>
    expect(checkName(name)).toBe(name),
  )

  test.each(['', 'x'.repeat(65), 'ü'.repeat(33), 'a\nb', 'a\u0000', 'a\u0085', 7, null, ['a']])(
    'is refused: %j',
    (name) => {
      expect(() => checkName(name as string)).toThrow(InputError)
      expect(() => checkName(name as string)).toThrow(
        /is not a valid name of a worker: use a text of 1 to 64 bytes without control characters\.$/,
      )
    },
  )
})
