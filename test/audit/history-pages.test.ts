/** The audit reads a history in pages that fit the size of its entries. */
import { expect, test } from 'vitest'
import { historyPages } from '../../src/audit/history-pages.ts'

async function read(entries: readonly string[], length: number) {
  const asked: number[] = []
  const found: string[] = []
  const store = {
    entries: async (_id: string, from: number, most: number) => {
      asked.push(most)
      return entries.slice(from, from + most)
    },
  }
  for await (const page of historyPages(store, 'w', length)) found.push(...page)
  return { asked, found }
}

const numbered = (count: number, bytes: number) =>
  Array.from({ length: count }, (_, number) => String(number).padEnd(bytes, '.'))

test('small entries come by the thousand, each once and in order', async () => {
  const entries = numbered(20_000, 100)
  const { asked, found } = await read(entries, entries.length)
  expect(found).toEqual(entries)
  expect(asked.length).toBeLessThan(30)
  expect(Math.max(...asked)).toBeLessThanOrEqual(1_000)
})

test('large entries come by the handful, and no page is empty', async () => {
  const entries = numbered(120, 1_000_000)
  const { asked, found } = await read(entries, entries.length)
  expect(found).toEqual(entries)
  expect(Math.max(...asked)).toBe(50)
  expect(asked.slice(1).every((most) => most <= 4)).toBe(true)
  expect((await read(numbered(60, 5_000_000), 60)).asked.at(-1)).toBe(1)
})

test('reading ends where the history is shorter than its length said, and reads nothing beyond that length', async () => {
  expect((await read(numbered(3, 10), 5)).found).toHaveLength(3)
  expect((await read(numbered(5, 10), 3)).found).toHaveLength(3)
})
