/** One job that stands for several wake-ups of a line, whose jobs came to full nodes, or were heard in vain, again and again (B-f). */
import { expect, test } from 'vitest'
import type { Wakeup, WakeupAnswer } from '../../src/core/ports/ports.ts'
import { waitUntil } from '../support/wait-until.ts'
import { rungAgain, WakeupStage } from './support/wakeup-stage.ts'

const wakeup = (id: string): Wakeup => ({ id, pool: 'default' })
const stage = WakeupStage.forEach()

/** With more slots than there are wake-ups. */
async function listen(
  answer: (wakeup: Wakeup, foundWork: () => void) => Promise<WakeupAnswer>,
  slotCame = async () => {},
): Promise<void> {
  await stage.listen('default', { answer, slotCame }, { slots: 10 })
}

test('keeps the names of those that one job stands for, each once, and of the newest alone', async () => {
  const full = (name: string, ...behind: string[]) => ({ ...wakeup(name), isAgain: true as const, full: 3, behind })
  stage.waker.wake(0, [full('c', 'a', 'b'), full('d'), full('f', 'd', 'e', 'c')])
  const many = Array.from({ length: 60 }, (_, number) => `many ${number}`)
  stage.waker.wake(
    1,
    many.map((name) => full(name)),
  )
  await stage.waker.stop()
  const names = async (partition: number) =>
    (await stage.queueOf('default', partition).getWaiting()).map(({ data }) => [...data.behind, data.wakeup])
  expect(await names(0)).toEqual([['a', 'b', 'd', 'e', 'f', 'c']])
  expect(await names(1)).toEqual([[...many.slice(10), 'many 0']])
})

test.each([
  ['came to full nodes', { full: 5 }],
  ['were heard in vain', { hops: 5 }],
])('answers all that one job stands for as they %s, while slots are free (B-f)', async (_, again) => {
  const names = Array.from({ length: 8 }, (_, number) => `wakeup ${number}`)
  const [answered, gate]: [string[], PromiseWithResolvers<void>] = [[], Promise.withResolvers()]
  let [free, left] = [0, Promise.withResolvers<void>()]
  const answer = async ({ id }: Wakeup, foundWork: () => void) => {
    if (free === 0) return 'full'
    free--
    answered.push(id)
    foundWork()
    await gate.promise
    return 'done'
  }
  const leave = (slots: number) => {
    free = slots
    left.resolve()
    left = Promise.withResolvers()
  }
  await listen(answer, () => left.promise)
  stage.waker.wake(
    0,
    names.map((name) => ({ ...wakeup(name), isAgain: true, ...again })),
  )
  const queue = stage.queueOf('default')
  const jobs = () => queue.getJobCountByTypes('wait', 'active')
  await waitUntil('it is rung again', async () => (await rungAgain(queue)).length === 1)
  leave(3)
  await waitUntil('some are answered', () => answered.length === 3)
  await waitUntil('the others wait', async () => (await rungAgain(queue)).length === 1)
  // Those that are answered, and a few that are held or wait.
  expect(await jobs()).toBeLessThanOrEqual(3 + 4)
  leave(5)
  await waitUntil('all are answered', () => answered.length === names.length)
  expect(answered.toSorted()).toEqual(names)
  gate.resolve()
})

test('rings the others of its job also where a wake-up finds no work, and once it was heard in vain too often (B-f)', async () => {
  const heard: string[] = []
  await listen(async ({ id }) => {
    const isAgain = heard.includes(id)
    heard.push(id)
    return id === 'unfit' || (id === 'unfit once' && !isAgain) ? 'unfit' : 'done'
  })
  const queue = stage.queueOf('default')
  await queue.add('wakeup', { wakeup: 'c', full: 3, behind: ['a', 'b'] })
  await waitUntil('all are answered', () => heard.length === 3)
  expect(heard).toEqual(['c', 'b', 'a'])
  await queue.add('wakeup', { wakeup: 'unfit once', hops: 3, behind: ['d', 'e'] })
  await waitUntil('all of the second are answered', () => heard.length === 7)
  expect(heard.slice(3)).toEqual(['unfit once', 'unfit once', 'e', 'd'])
  await queue.add('wakeup', { wakeup: 'unfit', hops: 7, behind: ['f', 'g'] })
  await waitUntil('the others are answered', () => heard.length === 11)
  await waitUntil('nothing is left', async () => (await queue.getJobs()).length === 0)
  expect(heard.slice(7)).toEqual(['unfit', 'unfit', 'g', 'f'])
})

test('rings each of the others once, and not for ever, where no node can run what is in line (B-f)', async () => {
  const heard: string[] = []
  await listen(async ({ id }) => {
    heard.push(id)
    return 'unfit'
  })
  const queue = stage.queueOf('default')
  const names = Array.from({ length: 20 }, (_, number) => `wakeup ${number}`)
  await queue.add('wakeup', { wakeup: 'first', hops: 3, behind: names })
  await waitUntil('all are heard', () => names.every((name) => heard.includes(name)))
  await waitUntil('nothing is left', async () => (await queue.getJobs()).length === 0)
  expect(heard).toEqual([...Array.from({ length: 6 }, () => 'first'), ...names.toReversed()])
})

test('rings the others of its job once, however the slot that found work leaves (B-f)', async () => {
  const heard: string[] = []
  await listen(async ({ id }, foundWork) => {
    const isAgain = heard.includes(id)
    heard.push(id)
    foundWork()
    return id === 'unfit once' && !isAgain ? 'unfit' : 'done'
  })
  const queue = stage.queueOf('default')
  await queue.add('wakeup', { wakeup: 'c', full: 3, behind: ['a', 'unfit once', 'b'] })
  await waitUntil('all are answered', () => heard.length >= 5)
  await waitUntil('nothing is left', async () => (await queue.getJobs()).length === 0)
  expect(heard.toSorted()).toEqual(['a', 'b', 'c', 'unfit once', 'unfit once'])
})

test('takes a job that names no others for one wake-up, and what is no name for none', async () => {
  const heard: string[] = []
  await listen(async ({ id }) => {
    heard.push(id)
    return 'done'
  })
  const queue = stage.queueOf('default')
  const odd = [{ full: 3 }, { behind: 'x' }, { behind: [7, null, 'b'] }, { behind: {} }, { behind: null }]
  for (const data of odd) await queue.add('wakeup', { wakeup: 'a', ...data })
  await waitUntil('all are answered', () => heard.length === 6)
  await waitUntil('nothing is left', async () => (await queue.getJobs()).length === 0)
  expect(heard.toSorted()).toEqual(['a', 'a', 'a', 'a', 'a', 'b'])
})
