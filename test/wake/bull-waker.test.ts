/** Sending wake-ups: each becomes one job in the queue of its pool, and what is lost on the way is not sent again. */
import type { Queue } from 'bullmq'
import { expect, inject, test } from 'vitest'
import type { Wakeup } from '../../src/core/ports/wake.ts'
import { openRedis } from '../../src/store/redis/redis.ts'
import { BullWaker } from '../../src/wake/bull-waker.ts'
import { TcpProxy } from '../support/redis/tcp-proxy.ts'
import { waitUntil } from '../support/time/wait-until.ts'
import { WakeStage } from './support/wake-stage.ts'

const wakeup = (id: string, pool = 'default'): Wakeup => ({ id, pool })
const stage = WakeStage.forEach()
/** In the order in which a node takes them. */
const dataOf = async (queue: Queue) => (await queue.getJobs(['wait'], 0, -1, true)).map(({ data }) => data)

test('the waker adds one job for each wake-up to the queue of its pool and partition, once for each id', async () => {
  stage.waker.wake(0, [wakeup('a'), wakeup('b'), wakeup('g', 'gpu')])
  stage.waker.wake(0, [wakeup('a')])
  stage.waker.wake(1, [wakeup('c')])
  stage.waker.wake(0, [])
  await stage.waker.stop()
  const queues = [stage.queue(), stage.queue('gpu'), stage.queue('default', 1)]
  expect(await Promise.all(queues.map(dataOf))).toEqual([
    [{ wakeup: 'a' }, { wakeup: 'b' }],
    [{ wakeup: 'g' }],
    [{ wakeup: 'c' }],
  ])
})

test('the waker logs what could not be sent, and does not send it again (WAKE-1)', async () => {
  const wrong = `${stage.places[0]?.prefix}:wakeup-default:wait`
  await stage.connection.set(wrong, 'not a list')
  stage.waker.wake(0, [wakeup('a')])
  await waitUntil('it is logged', () => stage.warned.length === 1)
  const fields = { pool: 'default', error: expect.stringContaining('WRONGTYPE') }
  expect(stage.warned).toEqual([['a wake-up could not be sent; a sweep will find the work', fields]])
  await stage.connection.del(wrong)
  await stage.waker.stop()
  expect(await stage.connection.llen(wrong)).toBe(0)
})

test('the waker sends wake-ups that a node has received, or sent back, a little later', async () => {
  stage.waker.wake(0, [wakeup('p-heard'), wakeup('a')])
  void stage.waker.sendBack(0, 'default', { id: 'sent back', unfit: 1, others: [] })
  stage.waker.wake(0, [wakeup('b')])
  const queue = stage.queue()
  await waitUntil('all are there', async () => (await queue.getWaitingCount()) === 4)
  const ids = (await dataOf(queue)).map((data) => data.wakeup)
  expect([ids.slice(0, 2), new Set(ids.slice(2))]).toEqual([['a', 'b'], new Set(['p-heard', 'sent back'])])
})

test('the waker adds one job for all wake-ups of a queue that are sent back at the same time, and one for each queue (WAKE-9)', async () => {
  const sendBack = (partition: number, pool: string, ids: string[]) =>
    ids.map((id) => stage.waker.sendBack(partition, pool, { id, unfit: 0, others: [] }))
  const sent = [
    ...sendBack(0, 'default', ['a', 'b', 'c']),
    ...sendBack(1, 'default', ['d']),
    ...sendBack(0, 'gpu', ['e', 'f']),
  ]
  await Promise.all(sent)
  await Promise.all(sendBack(0, 'default', ['g']))
  await stage.waker.stop()
  expect(await dataOf(stage.queue())).toEqual([{ wakeup: 'a', others: ['b', 'c'] }, { wakeup: 'g' }])
  expect(await dataOf(stage.queue('default', 1))).toEqual([{ wakeup: 'd' }])
  expect(await dataOf(stage.queue('gpu'))).toEqual([{ wakeup: 'e', others: ['f'] }])
})

test('the waker finishes sending before it stops, because the connection may be closed then', async () => {
  const own = openRedis(inject('redisUrl'))
  const other = new BullWaker(
    stage.places.map((place) => ({ ...place, connection: own })),
    stage.log,
  )
  for (let number = 0; number < 25; number++) other.wake(0, [wakeup(`w ${number}`), wakeup(`p ${number}`)])
  void other.sendBack(0, 'default', { id: 'sent back', unfit: 1, others: [] })
  await other.stop()
  own.disconnect()
  expect(await stage.queue().getWaitingCount()).toBe(51)
  expect(stage.warned).toEqual([])
})

test('the waker sends delayed wake-ups at once when it stops', async () => {
  const own = openRedis(inject('redisUrl'))
  const other = new BullWaker(
    stage.places.map((place) => ({ ...place, connection: own })),
    stage.log,
  )
  await own.ping()
  other.wake(0, [wakeup('p')])
  await other.stop()
  own.disconnect()
  expect(await stage.queue().getWaitingCount()).toBe(1)
})

test('a stopping waker does not wait for a Redis that hangs', async () => {
  await using proxy = await TcpProxy.start(inject('redisUrl'))
  const own = openRedis(proxy.url)
  const other = new BullWaker(
    stage.places.map((place) => ({ ...place, connection: own })),
    stage.log,
  )
  other.wake(0, [wakeup('a')])
  await waitUntil('it is there', async () => (await stage.queue().getWaitingCount()) === 1)
  proxy.blackhole()
  other.wake(0, [wakeup('b')])
  await expect(other.stop()).resolves.toBeUndefined()
  own.disconnect()
})

test('the waker opens one queue for each pool, however often it sends, and closes them', async () => {
  const before = stage.connection.listenerCount('error')
  stage.waker.wake(0, [wakeup('a')])
  const open = stage.connection.listenerCount('error')
  for (let number = 0; number < 20; number++) stage.waker.wake(0, [wakeup(`w ${number}`)])
  expect(open).toBeGreaterThan(before)
  expect(stage.connection.listenerCount('error')).toBe(open)
  await stage.waker.stop()
  expect(stage.connection.listenerCount('error')).toBe(before)
})
