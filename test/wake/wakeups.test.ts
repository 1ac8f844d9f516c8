/** Wake-ups over BullMQ: each becomes one job of its pool's queue, is answered once, and leaves nothing behind. */
import type { Queue } from 'bullmq'
import { describe, expect, inject, test } from 'vitest'
import type { Wakeup, WakeupAnswer } from '../../src/core/ports/ports.ts'
import { openRedis } from '../../src/store/redis/redis.ts'
import { BullWaker, readPausedWakeups } from '../../src/wake/wakeups.ts'
import { TcpProxy } from '../support/tcp-proxy.ts'
import { waitUntil } from '../support/wait-until.ts'
import { rungAgain, WakeupStage } from './support/wakeup-stage.ts'

const wakeup = (id: string, pool = 'default'): Wakeup => ({ id, pool })
const stage = WakeupStage.forEach()

/** Unless `answer` says otherwise there was a slot free, and nothing is left. */
async function listen(
  pool: string,
  answer: (wakeup: Wakeup) => Promise<unknown>,
  { slotCame = async () => {}, ...place }: { slotCame?: () => Promise<void>; partition?: number; slots?: number } = {},
) {
  const said = (how: unknown): WakeupAnswer => (how === 'full' || how === 'unfit' ? how : 'done')
  return stage.listen(pool, { answer: async (heard) => said(await answer(heard)), slotCame }, place)
}

describe('ringing', () => {
  test('adds one job for each wake-up to the queue of its pool and partition, once for each name', async () => {
    stage.waker.wake(0, [wakeup('a'), wakeup('b'), wakeup('g', 'gpu')])
    stage.waker.wake(0, [wakeup('a')])
    stage.waker.wake(1, [wakeup('p')])
    stage.waker.wake(0, [])
    const ids = async (queue: Queue) =>
      (await queue.getJobs())
        .map(({ id, data }) => `${id} ${data.wakeup}`)
        .toSorted((one, other) => (one < other ? -1 : 1))
    const [here, gpu, there] = [stage.queueOf('default'), stage.queueOf('gpu'), stage.queueOf('default', 1)]
    await waitUntil('all are there', async () => (await ids(there)).length + (await ids(gpu)).length === 2)
    expect([await ids(here), await ids(gpu), await ids(there)]).toEqual([['a a', 'b b'], ['g g'], ['p p']])
    for (const { opts } of await here.getJobs()) expect(opts.attempts).toBe(1)
  })

  test('that fails is told, and is never tried again (B-a)', async () => {
    const wrong = `${stage.places[0]?.prefix}:wakeup-default:wait`
    await stage.connection.set(wrong, 'not a list')
    stage.waker.wake(0, [wakeup('a')])
    await waitUntil('it is told', () => stage.told.length === 1)
    expect(stage.told).toEqual([
      [
        'a wake-up could not be rung; a sweep will run what is queued',
        { pool: 'default', error: expect.stringContaining('WRONGTYPE') },
      ],
    ])
    await stage.connection.del(wrong)
    await stage.waker.stop()
    expect(await stage.connection.llen(wrong)).toBe(0)
  })

  test('is waited for by who stops: the connection may be closed after that', async () => {
    const own = openRedis(inject('redisUrl'))
    const other = new BullWaker(own, stage.places, stage.log)
    for (let number = 0; number < 25; number++)
      other.wake(0, [wakeup(`bell ${number}`), { ...wakeup(`told ${number}`), isTold: true }])
    await other.stop()
    own.disconnect()
    expect(await stage.queueOf('default').getWaitingCount()).toBe(50)
    expect(stage.told).toEqual([])
  })

  test('that hangs is not waited for by who stops', async () => {
    await using proxy = await TcpProxy.start(inject('redisUrl'))
    const own = openRedis(proxy.url)
    const other = new BullWaker(own, stage.places, stage.log)
    other.wake(0, [wakeup('a')])
    await waitUntil('it is there', async () => (await stage.queueOf('default').getWaitingCount()) === 1)
    proxy.blackhole()
    other.wake(0, [wakeup('b')])
    await expect(other.stop()).resolves.toBeUndefined()
    own.disconnect()
  })

  test('that was to come later is made up for by who stops', async () => {
    stage.waker.wake(0, [{ ...wakeup('told'), isTold: true }])
    await stage.waker.stop()
    expect(await stage.queueOf('default').getWaitingCount()).toBe(1)
  })

  test('comes later for a wake-up that a node was told of, or that was heard in vain, and comes all the same', async () => {
    stage.waker.wake(0, [{ ...wakeup('told'), isTold: true }, wakeup('a')])
    stage.waker.wake(0, [{ ...wakeup('in vain'), hops: 1 }])
    stage.waker.wake(0, [wakeup('b')])
    const ids = async () => (await stage.queueOf('default').getJobs(['wait'], 0, -1, true)).map(({ id }) => id)
    await waitUntil('all are there', async () => (await ids()).length === 4)
    expect((await ids()).slice(0, 2)).toEqual(['a', 'b'])
    expect(new Set((await ids()).slice(2))).toEqual(new Set(['in vain', 'told']))
  })

  test('adds one job for all of a line that were heard in vain again and again, and that one may go on longest', async () => {
    const [again, other] = [
      [5, 3, 7].map((hops) => ({ ...wakeup('again'), isAgain: true as const, hops })),
      [1, 2].map((hops) => ({ ...wakeup('isolated'), isAgain: true as const, hops })),
    ]
    stage.waker.wake(0, [...again, ...other])
    stage.waker.wake(0, again)
    stage.waker.wake(1, again)
    await stage.waker.stop()
    const hops = async (partition: number) =>
      (await stage.queueOf('default', partition).getWaiting())
        .map(({ data }) => Number(data.hops))
        .toSorted((one, other) => one - other)
    expect([await hops(0), await hops(1)]).toEqual([[1, 2, 3], [3]])
  })

  test('adds one job for all of a line whose jobs came to full nodes again and again', async () => {
    const full = (count: number) => ({ ...wakeup(`full ${count}`), isAgain: true as const, full: count })
    stage.waker.wake(0, [full(1), full(1), full(2), full(3), full(4)])
    stage.waker.wake(0, [full(3), full(2)])
    await stage.waker.stop()
    const counts = (await stage.queueOf('default').getWaiting()).map(({ data }) => Number(data.full))
    expect(counts.toSorted((one, other) => one - other)).toEqual([1, 1, 2, 2, 3])
  })

  test('opens one queue for each pool, however often it is done, and closes them', async () => {
    const before = stage.connection.listenerCount('error')
    stage.waker.wake(0, [wakeup('a')])
    const open = stage.connection.listenerCount('error')
    for (let number = 0; number < 20; number++) stage.waker.wake(0, [wakeup(`bell ${number}`)])
    expect(open).toBeGreaterThan(before)
    expect(stage.connection.listenerCount('error')).toBe(open)
    await stage.waker.stop()
    expect(stage.connection.listenerCount('error')).toBe(before)
  })
})

describe('a listener', () => {
  test('answers each wake-up of its pool once, and its job is gone when it was answered', async () => {
    const [answered, elsewhere]: [Wakeup[], Wakeup[]] = [[], []]
    await listen('default', async (heard) => void answered.push(heard))
    await listen('gpu', async (heard) => void elsewhere.push(heard))
    stage.waker.wake(0, [wakeup('a'), wakeup('b')])
    await waitUntil('both are answered', () => answered.length === 2)
    expect(answered.toSorted((one, other) => (one.id < other.id ? -1 : 1))).toEqual([wakeup('a'), wakeup('b')])
    expect(elsewhere).toEqual([])
    const queue = stage.queueOf('default')
    await waitUntil('nothing is left', async () => (await queue.getJobs()).length === 0)
    // Under a name that was answered a wake-up can be rung again.
    stage.waker.wake(0, [wakeup('a')])
    await waitUntil('it is answered again', () => answered.length === 3)
  })

  test('lets jobs go that are no wake-ups', async () => {
    const answered: unknown[] = []
    const queue = stage.queueOf('default')
    await queue.add('wakeup', { wakeup: 7 })
    await queue.add('wakeup', {})
    await listen('default', async (heard) => void answered.push(heard))
    stage.waker.wake(0, [wakeup('a')])
    await waitUntil('the wake-up is answered', () => answered.length === 1)
    expect(answered).toEqual([wakeup('a')])
    await waitUntil('none is left', async () => (await queue.getJobCountByTypes('wait', 'active', 'completed')) === 0)
  })

  test('answers as many wake-ups at once as there are slots, and no more', async () => {
    const gate = Promise.withResolvers<void>()
    let answering = 0
    await listen(
      'default',
      async () => {
        answering++
        await gate.promise
      },
      { slots: 3 },
    )
    stage.waker.wake(
      0,
      ['a', 'b', 'c', 'd', 'e'].map((id) => wakeup(id)),
    )
    await waitUntil('all slots answer', () => answering === 3)
    expect(await stage.queueOf('default').getWaitingCount()).toBe(2)
    gate.resolve()
    await waitUntil('the others are answered', () => answering === 5)
  })

  test('whose slots are all taken rings its wake-up again for others, and takes no other until one comes to that line (B-b)', async () => {
    const [gate, heard, answered]: [PromiseWithResolvers<void>, string[], string[]] = [Promise.withResolvers(), [], []]
    const full = async ({ id }: Wakeup) => (heard.push(id) > 1 ? 'done' : 'full')
    await listen('default', full, { slots: 1, slotCame: () => gate.promise })
    stage.waker.wake(0, [wakeup('a')])
    const queue = stage.queueOf('default')
    await waitUntil('it is rung again', async () => (await rungAgain(queue)).length === 1)
    const other = await listen('default', async ({ id }) => answered.push(id))
    stage.waker.wake(0, [wakeup('b')])
    await waitUntil('another answers', () => answered.length === 2)
    expect([heard, answered.toSorted()]).toEqual([['a'], ['a', 'b']])
    await other.stop()
    gate.resolve()
    stage.waker.wake(0, [wakeup('c')])
    await waitUntil('it takes wake-ups again', () => heard.length === 2)
    expect(heard).toEqual(['a', 'c'])
  })

  test('whose slots are taken again as soon as they leave keeps no more wake-ups going round than a few (B-b)', async () => {
    await listen('default', async () => 'full', { slots: 3 })
    stage.waker.wake(
      0,
      Array.from({ length: 20 }, (_, number) => wakeup(`bell ${number}`)),
    )
    const queue = stage.queueOf('default')
    const left = () => queue.getJobCountByTypes('wait', 'active')
    // BullMQ counts all that were ever added.
    await waitUntil('they are rung again', async () => Number(await stage.connection.get(queue.toKey('id'))) > 20)
    expect(await waitUntil('few go round', async () => (await left()) <= 4)).toBe(true)
    expect(await waitUntil('one is left for other nodes', async () => (await left()) > 0)).toBe(true)
  })

  test('answers as many wake-ups at once as before when a slot has come (B-b)', async () => {
    const [came, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    let [isFull, answering] = [true, 0]
    const answer = async () => {
      if (isFull) return 'full'
      answering++
      await gate.promise
      return 'done'
    }
    await listen('default', answer, { slots: 2, slotCame: () => came.promise })
    stage.waker.wake(0, [wakeup('a')])
    const queue = stage.queueOf('default')
    await waitUntil('it is rung again', async () => (await rungAgain(queue)).length === 1)
    isFull = false
    came.resolve()
    stage.waker.wake(0, [wakeup('b'), wakeup('c')])
    await waitUntil('both slots answer', () => answering === 2)
    gate.resolve()
    expect(await waitUntil('all are answered', () => answering === 3)).toBe(true)
  })

  test('that can run nothing of what is in line lets the wake-up go on to others, and not for ever (B-b)', async () => {
    const [unfit, fit]: [string[], string[]] = [[], []]
    await listen('default', async ({ id }) => {
      unfit.push(id)
      return 'unfit'
    })
    stage.waker.wake(0, [wakeup('a')])
    const queue = stage.queueOf('default')
    await waitUntil('it was heard in vain often enough', () => unfit.length === 9)
    await waitUntil('nothing is left', async () => (await queue.getJobs()).length === 0)
    expect(unfit).toEqual(Array.from({ length: 9 }, () => 'a'))
    await listen('default', async ({ id }) => void fit.push(id))
    // BullMQ may give one of them to the same listener all nine times, and those that go on together are one.
    for (const id of ['b', 'c', 'd', 'e']) stage.waker.wake(0, [wakeup(id)])
    await waitUntil('one came to where it is fit', () => fit.length > 0)
  })

  test('whose slots are all taken rings a wake-up again that was heard in vain, and counts on (B-b)', async () => {
    await listen('default', async () => 'full', { slots: 1, slotCame: () => new Promise(() => {}) })
    stage.waker.wake(0, [{ ...wakeup('a'), isAgain: true, hops: 5 }])
    const queue = stage.queueOf('default')
    // What was rung first may still be waiting itself.
    await waitUntil('it is rung again', async () => (await rungAgain(queue)).length > 0)
    expect(await rungAgain(queue)).toEqual([{ wakeup: 'a', hops: 5, full: 1 }])
  })

  test('removes the jobs of a queue that somebody paused, and no others, and tells each time once where it is (B-d)', async () => {
    const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const busy = async () => {
      begun.resolve()
      await gate.promise
    }
    const listener = await listen('default', busy, { slots: 1, partition: 1 })
    const queue = stage.queueOf('default', 1)
    stage.waker.wake(1, [wakeup('a')])
    await begun.promise
    stage.waker.wake(1, [wakeup('b')])
    await waitUntil('it waits', async () => (await queue.getWaitingCount()) === 1)
    await listener.runOnce()
    expect(await queue.getWaitingCount()).toBe(1)
    expect(await readPausedWakeups(stage.connection, stage.places, ['default', 'gpu'])).toEqual([])

    const paused = { pool: 'default', prefix: stage.places[1]?.prefix }
    await queue.pause()
    expect(await readPausedWakeups(stage.connection, stage.places, ['default', 'gpu'])).toEqual([paused])
    await listener.runOnce()
    await listener.runOnce()
    expect(await queue.getWaitingCount()).toBe(0)
    const warning = 'the queue wakeup-default is paused in BullMQ: work may begin a second late'
    expect(stage.told).toEqual([[warning, paused]])
    await queue.resume()
    await listener.runOnce()
    await queue.pause()
    await listener.runOnce()
    expect(stage.told).toEqual([
      [warning, paused],
      [warning, paused],
    ])
    gate.resolve()
  })

  test('removes the jobs that nobody took for a minute, which else pile up for as long as all slots are taken (B-e)', async () => {
    const listener = await listen('default', async () => 'full', { slots: 1, slotCame: () => new Promise(() => {}) })
    stage.waker.wake(0, [wakeup('held')])
    const queue = stage.queueOf('default')
    const waiting = async () => (await queue.getJobs(['wait'], 0, -1, true)).map(({ data }) => String(data.wakeup))
    await waitUntil('it is rung again', async () => (await rungAgain(queue)).length === 1)
    const old = { timestamp: Date.now() - 61_000 }
    await queue.addBulk(
      ['old', 'older'].map((id) => ({ name: 'wakeup', data: { wakeup: id }, opts: { ...old, jobId: id } })),
    )
    expect(await waiting()).toEqual(['held', 'old', 'older'])
    await listener.runOnce()
    expect(await waiting()).toEqual(['held'])
    expect([await queue.getActiveCount(), stage.told]).toEqual([1, []])
  })

  test('that stops takes no more wake-ups, and does not wait for those in hand', async () => {
    const [begun, gate] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const answered: string[] = []
    const listener = await listen('default', async ({ id }) => {
      answered.push(id)
      begun.resolve()
      await gate.promise
    })
    stage.waker.wake(0, [wakeup('a')])
    await begun.promise
    await listener.stop()
    stage.waker.wake(0, [wakeup('b')])
    await stage.waker.stop()
    expect(await stage.queueOf('default').getWaitingCount()).toBe(1)
    expect(answered).toEqual(['a'])
    gate.resolve()
  })
})
