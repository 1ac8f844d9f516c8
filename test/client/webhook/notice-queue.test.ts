/** A client sends several notices at a time, and reads the subject of each when its turn comes. */
import { expect, test } from 'vitest'
import { NoticeQueue } from '../../../src/client/webhook/notice-queue.ts'

/** A queue whose notices are sent when the test says so. */
function held() {
  const told: string[] = []
  const open: PromiseWithResolvers<void>[] = []
  const queue = new NoticeQueue((notice) => {
    told.push(notice)
    const one = Promise.withResolvers<void>()
    open.push(one)
    return one.promise
  })
  return { queue, told, open }
}

test('many notices are sent fifty at a time, in their order, and one that fails holds up no other', async () => {
  const { queue, told, open } = held()
  const all = Array.from({ length: 60 }, (_, nth) => queue.add(`${nth}`))
  expect(told).toHaveLength(50)
  open[0]?.reject(new Error('away'))
  await expect(all[0]).rejects.toThrow('away')
  await expect.poll(() => told.at(-1)).toBe('50')
  for (const one of open) one.resolve()
  await expect.poll(() => told).toHaveLength(60)
})

test('a waiting notice is sent once however often it comes, and one that comes again while it is sent is sent again (NOTICES-1)', async () => {
  const { queue, told, open } = held()
  for (let nth = 0; nth < 50; nth++) void queue.add(`${nth}`)
  const [first, again] = [queue.add('x'), queue.add('x')]
  expect(again).toBe(first)
  for (const one of open.splice(0)) one.resolve()
  await expect.poll(() => told.at(-1)).toBe('x')
  void queue.add('x')
  expect(told.filter((notice) => notice === 'x')).toHaveLength(2)
})
