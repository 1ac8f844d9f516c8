import fc from 'fast-check'
import { expect, test } from 'vitest'
import { code, formatCount, formatSize, plural, table } from '../../workers/_survey/report/markdown.ts'

test('numbers are grouped', () => {
  expect([0, 12, 999, 1_000, 1_234_567, 2 ** 53 - 1].map(formatCount)).toEqual([
    '0',
    '12',
    '999',
    '1,000',
    '1,234,567',
    '9,007,199,254,740,991',
  ])
  expect([plural(0, 'file'), plural(1, 'file'), plural(2, 'copy', 'copies')]).toEqual(['0 files', '1 file', '2 copies'])
})

test('sizes are written with a unit', () => {
  expect([0, 1, 1_023, 1_024, 1_536, 1_048_575, 1_048_576, 553_755_504, 2 ** 53].map(formatSize)).toEqual([
    '0 bytes',
    '1 byte',
    '1,023 bytes',
    '1.0 KiB',
    '1.5 KiB',
    '1.0 MiB',
    '1.0 MiB',
    '528.1 MiB',
    '8.0 PiB',
  ])
})

/** What a Markdown reader takes out of a code span. */
function readCode(span: string): string {
  const fence = /^`+/.exec(span)?.[0] ?? ''
  const inner = span.slice(fence.length, -fence.length)
  return /^ .* $/s.test(inner) && inner.trim() !== '' ? inner.slice(1, -1) : inner
}

test('code shows any text unchanged', () => {
  expect(code('a')).toBe('`a`')
  expect(code('a`b')).toBe('``a`b``')
  expect(code('`')).toBe('`` ` ``')
  const text = fc
    .array(fc.constantFrom('`', '``', ' ', 'a', '|', '\\'), { minLength: 1 })
    .map((parts) => parts.join(''))
  fc.assert(
    fc.property(text, (value) => {
      expect(readCode(code(value))).toBe(value)
    }),
  )
})

test('a table is aligned, and a cell cannot break out of it', () => {
  const columns = [
    { title: 'Name', align: 'left' as const },
    { title: 'N', align: 'right' as const },
  ]
  expect(
    table(columns, [
      ['a|b', '1'],
      ['文', '1,000'],
    ]),
  ).toBe(['| Name |     N |', '| ---- | ----: |', '| a\\|b |     1 |', '| 文   | 1,000 |'].join('\n'))
})
