/** What a list says beside its rows: that there are none, that there are more, or that it is not whole. */
import { expect, test } from 'vitest'
import { factLines, listing, moreNote } from '../../../src/cli/view/answer.ts'
import { TransientError } from '../../../src/core/errors.ts'
import { plainPage } from './plain-page.ts'

const columns = [{ header: 'n', value: (row: number) => row }]
const failure = new TransientError('A partition is away.', { code: 'store_unavailable' })

test.each([
  ['is empty', [], undefined, 'There are none.'],
  ['has rows', [1], undefined, 'There are more.'],
  ['is empty and not whole', [], failure, undefined],
  ['has rows and is not whole', [1], failure, 'There are more.'],
])('a list that %s has the note that fits', (_, rows, failed, note) => {
  const answer = listing(rows, { columns, empty: 'There are none.', more: 'There are more.', failure: failed })
  expect([answer.note, answer.failure]).toEqual([note, failed])
})

test('a list that its limit has cut short says how many are shown, and how to see more', () => {
  expect(moreNote([1], 1, 'newest')).toBe('Only the newest one is shown; more with --limit.')
  expect(moreNote([1, 2], 2, 'first')).toBe('The first 2 are shown; more with --limit.')
  expect(moreNote([1], 2, 'first')).toBeUndefined()
})

test('facts stand below each other, and one without a value is left out', () => {
  const facts = [
    ['a', '1'],
    ['long', '2'],
    ['b', null],
    ['c', ''],
  ] as const
  expect(factLines(facts, plainPage())).toEqual(['a     1', 'long  2'])
})
