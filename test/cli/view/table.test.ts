import { describe, expect, it } from 'vitest'
import { type Column, tableLines } from '../../../src/cli/view/table.ts'
import { fitText, textWidth, wrapText } from '../../../src/words/text/text-width.ts'
import { plainPage } from './plain-page.ts'

interface Row {
  readonly id: string
  readonly name: string
  readonly count: number
}

const columns: Column<Row>[] = [
  { header: 'id', value: (row) => row.id },
  { header: 'name', value: (row) => row.name, shrinksTo: 6 },
  { header: 'count', value: (row) => row.count, align: 'right' },
]
const rows: Row[] = [
  { id: 'aaaaaaaa', name: 'a name of some length', count: 5 },
  { id: 'bb', name: 'short', count: 12_345 },
]

describe('tableLines', () => {
  it('pads to the widest cell and aligns numbers to the right', () => {
    expect(tableLines(rows, columns, plainPage(200))).toEqual([
      'ID        NAME                   COUNT',
      'aaaaaaaa  a name of some length      5',
      'bb        short                  12345',
    ])
  })

  it('cuts only columns that may shrink', () => {
    const lines = tableLines(rows, columns, plainPage(30))
    expect(lines).toEqual([
      'ID        NAME           COUNT',
      'aaaaaaaa  a name of so…      5',
      'bb        short          12345',
    ])
    expect(lines.every((line) => textWidth(line) <= 30)).toBe(true)
  })

  it('becomes a block for each row if the table cannot fit', () => {
    expect(tableLines(rows, columns, plainPage(20))).toEqual([
      'ID     aaaaaaaa',
      'NAME   a name of so…',
      'COUNT  5',
      '',
      'ID     bb',
      'NAME   short',
      'COUNT  12345',
    ])
  })

  it('paints cells as their column says, in a table and in blocks, and leaves out what is empty in a block', () => {
    const styled: Column<Row>[] = [
      { header: 'id', value: (row) => row.id, style: () => 'red' },
      { header: 'name', value: (row) => (row.id === 'bb' ? '' : row.name) },
    ]
    const painted = (columns: number) =>
      tableLines(rows, styled, { columns, paint: (style, text) => (style ? `<${style}>${text}</>` : text) })
    expect(painted(80)).toEqual(['ID        NAME', '<red>aaaaaaaa</>  a name of some length', '<red>bb      </>'])
    expect(painted(20)).toEqual(['ID    <red>aaaaaaaa</>', 'NAME  a name of some length', '', 'ID    <red>bb</>'])
  })

  it('cuts no column below its header, and no value of a block below eight columns', () => {
    const one = [{ header: 'a long header', value: () => 'x'.repeat(40), shrinksTo: 2 }]
    expect(tableLines([1], one, plainPage(15))).toEqual(['A LONG HEADER', `${'x'.repeat(14)}…`])
    expect(tableLines([1], one, plainPage(5))).toEqual([`A LONG HEADER  ${'x'.repeat(7)}…`])
  })

  it('leaves out columns that a reader can do without, and says which', () => {
    const some = columns.map((column) => (column.header === 'count' ? { ...column, leftOut: 1 } : column))
    expect(tableLines(rows, some, plainPage(30))).toContain('bb        short          12345')
    expect(tableLines(rows, some, plainPage(20))).toEqual([
      'ID        NAME',
      'aaaaaaaa  a name of…',
      'bb        short',
      '',
      'There is no room for: count.',
    ])
    expect(tableLines(rows, some, plainPage(12))).toContain('COUNT  5')
  })

  it('cuts nothing without a terminal, except a column with a greatest width', () => {
    const [, line] = tableLines([{ id: 'a', name: 'n'.repeat(500), count: 1 }], columns, plainPage())
    expect(line).toContain('n'.repeat(500))
    const [, cut] = tableLines(['n'.repeat(500)], [{ header: 'n', value: (text) => text, atMost: 20 }], plainPage())
    expect(cut).toBe(`${'n'.repeat(19)}…`)
  })

  it('escapes control characters of a value', () => {
    const [, line] = tableLines([{ id: 'a\nb', name: '\u001b[31mred', count: 1 }], columns, plainPage(200))
    expect(line).toBe('a\\nb  \\e[31mred      1')
  })

  it('tableLines has no header without rows', () => {
    expect(tableLines([], columns, plainPage(80))).toEqual([])
  })
})

describe('textWidth', () => {
  it('counts columns, not characters', () => {
    expect(textWidth('plain')).toBe(5)
    expect(textWidth('日本')).toBe(4)
    expect(textWidth('é')).toBe(1)
    expect(textWidth('👩‍👩‍👧')).toBe(2)
    expect(textWidth('❤️')).toBe(2)
    expect(textWidth('❤')).toBe(1)
    expect(textWidth('├─ a')).toBe(4)
  })

  it('bounds the text that fitText returns', () => {
    for (const columns of [1, 2, 3, 4, 5])
      expect(textWidth(fitText('日本語の名前', columns))).toBeLessThanOrEqual(columns)
    expect(fitText('abc', 3)).toBe('abc')
    expect(fitText('abcd', 3)).toBe('ab…')
    expect(fitText('abcd', 0)).toBe('')
  })
})

describe('wrapText', () => {
  it('breaks at spaces only', () => {
    expect(wrapText('one two three', 7)).toEqual(['one two', 'three'])
    expect(wrapText('one redis-cli-config two', 7)).toEqual(['one', 'redis-cli-config', 'two'])
    expect(wrapText('one two', Number.POSITIVE_INFINITY)).toEqual(['one two'])
    expect(wrapText('', 7)).toEqual([''])
  })
})
