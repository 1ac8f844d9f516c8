/** JSON whose numbers keep their digits (EXACT-1). */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { parseExactJson } from '../../src/core/exact-json.ts'

test.each([
  ['{"id":12345678901234567890}', { id: '12345678901234567890' }],
  ['[9007199254740993,-9007199254740993]', ['9007199254740993', '-9007199254740993']],
  ['9007199254740991', 9_007_199_254_740_991],
  ['{"a":{"b":[1e999]}}', { a: { b: ['1e999'] } }],
  ['1e21', 1e21],
  ['0.12345678901234567', Number('0.12345678901234567')],
  ['"12345678901234567890"', '12345678901234567890'],
  ['{"n":1,"t":"1234567890123456"}', { n: 1, t: '1234567890123456' }],
])('%s', (text, value) => {
  expect(parseExactJson(text)).toEqual(value)
})

test('any JSON without large numbers is read as usual, and a text that is not JSON throws', () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      const exact = JSON.stringify(parseExactJson(text))
      const plain = JSON.stringify(JSON.parse(text))
      expect(exact.replaceAll(/"(-?\d+)"/g, '$1')).toBe(plain.replaceAll(/"(-?\d+)"/g, '$1'))
    }),
  )
  expect(() => parseExactJson('{"a":')).toThrow(SyntaxError)
})
