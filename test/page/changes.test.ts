/** The changes that an edit makes in a value, as the page shows them before it sends them. */
import { expect, test } from 'vitest'
import { changesBetween } from '../../src/page/parts/text/value-changes.ts'

const lines = (before: unknown, after: unknown) =>
  changesBetween(before, after).map(({ path, pieces }) => [path, ...pieces.map(({ of, text }) => `${of}: ${text}`)])

test('each part that differs is shown, texts word by word, and nothing else', () => {
  const before = { path: '/a', title: 'all about tea', tags: ['x', 'y'], by: { name: 'ada' }, old: 1, draft: true }
  const after = { path: '/a', title: 'all about green tea', tags: ['x', 'z', 'w'], by: { name: 'bob' }, draft: 'no' }
  expect(lines(before, after)).toEqual([
    ['title', 'both: all about ', 'after: green ', 'both: tea'],
    ['tags[1]', 'before: y', 'after: z'],
    ['tags[2]', 'after: w'],
    ['by.name', 'before: ada', 'after: bob'],
    ['old', 'before: 1'],
    ['draft', 'before: true', 'after: no'],
  ])
  expect(lines(before, structuredClone(before))).toEqual([])
  expect(lines('x', null)).toEqual([['', 'before: x', 'after: null']])
  expect(lines({ toString: 'x' }, {})).toEqual([['toString', 'before: x']])
})
