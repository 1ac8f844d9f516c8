import { expect, test } from 'vitest'
import { RecentIds } from '../../src/wake/recent-ids.ts'

test('a noted id is taken once', () => {
  const ids = new RecentIds()
  ids.note('a')
  expect([ids.take('b'), ids.take('a'), ids.take('a')]).toEqual([false, true, false])
})

test('the newest 256 ids are remembered', () => {
  const ids = new RecentIds()
  for (let number = 0; number <= 256; number++) ids.note(`${number}`)
  expect([ids.take('0'), ids.take('1'), ids.take('256')]).toEqual([false, true, true])
})
