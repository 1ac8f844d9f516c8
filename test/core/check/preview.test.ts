/** A value that an error or a report names is quoted so that people can read it. */
import { expect, test } from 'vitest'
import { preview } from '../../../src/core/check/preview.ts'

test('a text that holds double quotes is quoted with single ones, and keeps its own', () => {
  expect(preview('May pay run with {"cents":4200}?')).toBe(`'May pay run with {"cents":4200}?'`)
  expect(preview('plain')).toBe('"plain"')
  expect(preview(`it's`)).toBe(`"it's"`)
  expect(preview(`both " and '`)).toBe(`"both \\" and '"`)
})

test('what a terminal obeys and a backslash stay escaped, whatever the quotes are', () => {
  expect(preview('a\n"b"\u001b')).toBe(`'a\\n"b"\\u001b'`)
  expect(preview('a\\"b"')).toBe(`'a\\\\"b"'`)
})

test('a long text is cut, and says so', () => {
  expect(preview('"'.repeat(81))).toBe(`'${'"'.repeat(80)}'… (81 characters)`)
})
