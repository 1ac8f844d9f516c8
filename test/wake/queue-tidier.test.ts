/** Jobs that nobody will take go from the queues of wake-ups, and others stay. */
import { Queue } from 'bullmq'
import { expect, onTestFinished, test } from 'vitest'
import { defineWorker } from '../../src/core/definition/define-worker.ts'
import { QueueTidier, readPausedWakeups } from '../../src/wake/queue-tidier.ts'
import { TestTroupe } from '../support/test-troupe.ts'
import { waitUntil } from '../support/time/wait-until.ts'
import { WakeStage } from './support/wake-stage.ts'

const stage = WakeStage.forEach()

function tidier(isDeserted = async () => false): QueueTidier {
  const { places, log } = stage
  const otherPools = async () => ['gpu']
  const tidies = new QueueTidier({ places, pools: ['default'], otherPools, isDeserted, log })
  onTestFinished(() => tidies.stop())
  return tidies
}

test('the jobs of a paused queue are removed, and each pause is logged once, with its place (WAKE-7)', async () => {
  const tidies = tidier()
  const [queue, paused] = [stage.queue('default', 1), { pool: 'default', prefix: stage.places[1]?.prefix }]
  await queue.add('wake', { wakeup: 'a' })
  await tidies.runOnce()
  expect(await queue.getWaitingCount()).toBe(1)
  expect(await readPausedWakeups(stage.places, ['default', 'gpu'])).toEqual([])

  await queue.pause()
  expect(await readPausedWakeups(stage.places, ['default', 'gpu'])).toEqual([paused])
  await tidies.runOnce()
  await tidies.runOnce()
  expect(await queue.getWaitingCount()).toBe(0)
  const warning = [
    'the queue wakeup-default is paused in BullMQ: its jobs are removed, and work may begin a second late',
    paused,
  ]
  expect(stage.warned).toEqual([warning])
  await queue.resume()
  await tidies.runOnce()
  await queue.pause()
  await tidies.runOnce()
  expect(stage.warned).toEqual([warning, warning])
})

test('the jobs of a paused queue of another pool are removed too, and its own nodes log that (WAKE-7)', async () => {
  const [tidies, queue] = [tidier(), stage.queue('gpu')]
  await queue.pause()
  await queue.add('wake', { wakeup: 'a' })
  await tidies.runOnce()
  expect([await queue.getWaitingCount(), stage.warned]).toEqual([0, []])
})

test('jobs that nobody took for a minute are removed, however many, and newer ones stay (WAKE-8)', async () => {
  const tidies = tidier()
  for (const queue of [stage.queue(), stage.queue('default', 1), stage.queue('gpu')]) {
    const opts = { timestamp: Date.now() - 61_000 }
    await queue.addBulk(Array.from({ length: 1_200 }, () => ({ name: 'wake', data: { wakeup: 'old' }, opts })))
    await queue.add('wake', { wakeup: 'new' })
    await tidies.runOnce()
    expect((await queue.getWaiting()).map(({ data }) => data)).toEqual([{ wakeup: 'new' }])
    expect(await queue.getJobCounts()).toMatchObject({ completed: 0, failed: 0 })
  }
  expect(stage.warned).toEqual([])
})

test('the keys that BullMQ keeps of a queue go when no node hosts its pool, and nothing happened in it for a day (WAKE-10)', async () => {
  let isDeserted = false
  const tidies = tidier(async () => isDeserted)
  const queue = stage.queue('gpu')
  const own = stage.queue()
  const { connection } = stage
  const keysOf = async (of: Queue) => (await connection.keys('*')).filter((key) => key.startsWith(of.toKey('')))
  const age = async (of: Queue, ms: number) => {
    await connection.del(of.toKey('events'))
    await connection.xadd(of.toKey('events'), `${Date.now() - ms}-1`, 'event', 'drained')
  }
  for (const one of [queue, own]) {
    await one.add('wake', { wakeup: 'a' })
    await one.drain()
    await age(one, 25 * 3_600_000)
  }
  await tidies.runOnce()
  expect(await keysOf(queue)).not.toEqual([])
  isDeserted = true
  await age(queue, 23 * 3_600_000)
  await tidies.runOnce()
  expect(await keysOf(queue)).not.toEqual([])
  await age(queue, 25 * 3_600_000)
  await tidies.runOnce()
  expect(await keysOf(queue)).toEqual([])
  // A pool of its own has a node: this one.
  expect(await keysOf(own)).not.toEqual([])
})

test.each([
  ['whose nodes are gone', 'gpu', 'echo'],
  ['all of whose kinds are in another pool now', 'cpu', 'paint'],
])('a node that starts removes old jobs of a pool %s (WAKE-8)', async (_, pool, kind) => {
  await using troupe = await TestTroupe.connect()
  const kindIn = (name: string) => defineWorker({ pool: name, receive: (_message, self) => self.reply('done') })
  await (await troupe.startNode({ paint: kindIn('gpu') })).stop()
  const queue = new Queue('wakeup-gpu', { connection: troupe.redis, prefix: `${troupe.tag}:q` })
  await queue.add('wake', { wakeup: 'old' }, { timestamp: Date.now() - 61_000 })
  await troupe.startNode({ [kind]: kindIn(pool === 'cpu' ? 'cpu' : 'default') })
  await waitUntil('it is gone', async () => (await queue.getWaitingCount()) === 0)
  expect(await queue.getJobs()).toEqual([])
  await queue.close()
})
