/** How wake-ups come to a node, over pub/sub and as jobs, when it has a slot free, is full, or can run nothing of what is queued. */
import { describe, expect, test } from 'vitest'
import type { FirstClaim, Wakeup } from '../../src/core/ports/wake.ts'
import { waitUntil } from '../support/time/wait-until.ts'
import { done, full, unfit, WakeStage } from './support/wake-stage.ts'

const wakeups = (...ids: string[]): Wakeup[] => ids.map((id) => ({ id, pool: 'default' }))
const stage = WakeStage.forEach()

describe('a job', () => {
  test('a job is answered once, by a listener of its pool, and is gone then', async () => {
    const [answered, elsewhere]: [string[], string[]] = [[], []]
    await stage.listen((id) => done(id, Promise.resolve(answered.push(id))))
    await stage.listen((id) => done(id, Promise.resolve(elsewhere.push(id))), { pool: 'gpu' })
    stage.waker.wake(0, wakeups('a', 'b'))
    await waitUntil('both are answered', () => answered.length === 2)
    expect([answered.toSorted(), elsewhere]).toEqual([['a', 'b'], []])
    const queue = stage.queue()
    await waitUntil('nothing is left', async () => (await stage.jobs(queue)) === 0)
    stage.waker.wake(0, wakeups('a'))
    await waitUntil('the same id is answered again', () => answered.length === 3)
  })

  test('a job that is no wake-up is removed', async () => {
    const answered: string[] = []
    const queue = stage.queue()
    for (const data of [{ wakeup: 7 }, {}, null]) await queue.add('wake', data)
    await stage.listen((id) => done(id, Promise.resolve(answered.push(id))))
    stage.waker.wake(0, wakeups('a'))
    await waitUntil('the wake-up is answered', () => answered.length === 1)
    await waitUntil('none is left', async () => (await queue.getJobCountByTypes('wait', 'active', 'completed')) === 0)
    expect(answered).toEqual(['a'])
  })

  test('a job is active for as long as its slot is awake: as many are as there are slots', async () => {
    const gate = Promise.withResolvers<void>()
    let answering = 0
    const onWake = (id: string) =>
      done(
        id,
        gate.promise.then(() => answering++),
      )
    await stage.listen(onWake, { slots: 3 })
    const queue = stage.queue()
    stage.waker.wake(0, wakeups('a', 'b', 'c', 'd', 'e'))
    await waitUntil('all slots are awake', async () => (await queue.getActiveCount()) === 3)
    expect(await queue.getWaitingCount()).toBe(2)
    gate.resolve()
    await waitUntil('the others are answered', () => answering === 5)
  })

  test('a job whose slot is awake does not hold up a listener that stops', async () => {
    const gate = Promise.withResolvers<void>()
    let answered = 0
    const listener = await stage.listen((id) => done(id, answered++ === 0 ? gate.promise : undefined))
    stage.waker.wake(0, wakeups('a'))
    await waitUntil('it is answered', () => answered === 1)
    await expect(listener.stop()).resolves.toBeUndefined()
    gate.resolve()
  })
})

describe('a published wake-up', () => {
  const first = (isUnfit: boolean): FirstClaim => ({ wakeup: 'p', isUnfit })
  /** How the node takes it when it is published; how often the node is asked in all, and how many jobs there are in all. */
  test.each([
    ['that a slot answers is not answered again by its job', () => done('p'), 1, 1],
    ['whose claim failed is answered by its job', () => ({ ...done('p'), firstClaim: Promise.resolve(null) }), 2, 1],
    ['of a full node is answered by its job', () => full(new Promise(() => {})), 2, 1],
    ['of a full node that is draining is answered by its job', () => full(Promise.resolve(null)), 2, 1],
    [
      'of a full node to whose queue a slot came is not answered again',
      () => full(Promise.resolve(first(false))),
      1,
      1,
    ],
    ['of a full node whose slot came and was unfit is sent to others', () => full(Promise.resolve(first(true))), 9, 9],
    ['that an unfit slot answers is sent to others', () => unfit('p'), 9, 9],
  ])('%s (WAKE-2)', async (_, onPublish, asked, sent) => {
    let times = 0
    const listener = await stage.listen((id) => {
      if (times++ === 0) return onPublish()
      return sent > 1 ? unfit(id) : done(id)
    })
    listener.onPublished('p')
    // The promises of the answer.
    await new Promise(setImmediate)
    const queue = stage.queue()
    await queue.add('wake', { wakeup: 'p' }, { jobId: 'p', removeOnComplete: true })
    await waitUntil('it was sent as often as it may be', async () => (await stage.added(queue)) >= sent)
    await waitUntil('nothing is left', async () => (await stage.jobs(queue)) === 0)
    expect([times, await stage.added(queue)]).toEqual([asked, sent])
  })
})

test('a job whose wake-up was answered when it was published sends its other wake-ups on (WAKE-5)', async () => {
  const asked: string[] = []
  const listener = await stage.listen((id) => {
    asked.push(id)
    return done(id)
  })
  listener.onPublished('a')
  await stage.queue().add('wake', { wakeup: 'a', others: ['b', 'c'] })
  await waitUntil('the others are answered', () => asked.length === 3)
  expect(asked.toSorted()).toEqual(['a', 'b', 'c'])
})

describe('a job that comes to a full node', () => {
  test('a job that comes to a full node is sent back and held, and the node takes no other until a slot comes to the queue (WAKE-3)', async () => {
    const slotComes = Promise.withResolvers<FirstClaim | null>()
    const [here, elsewhere]: [string[], string[]] = [[], []]
    await stage.listen((id) => (here.push(id) > 1 ? done(id) : full(slotComes.promise)), { slots: 1 })
    stage.waker.wake(0, wakeups('a'))
    const queue = stage.queue()
    await waitUntil('it is sent back', async () => (await queue.getWaitingCount()) === 1)
    const other = await stage.listen((id) => done(id, Promise.resolve(elsewhere.push(id))))
    stage.waker.wake(0, wakeups('b'))
    await waitUntil('another node answers both', () => elsewhere.length === 2)
    expect([here, elsewhere.toSorted()]).toEqual([['a'], ['a', 'b']])
    await other.stop()
    slotComes.resolve({ wakeup: 'a', isUnfit: false })
    stage.waker.wake(0, wakeups('c'))
    await waitUntil('it takes jobs again', () => here.length === 2)
    expect(here).toEqual(['a', 'c'])
  })

  test('a job that comes to a full node is the only one that the node holds, and soon the last that it takes, however many slots it has (WAKE-3)', async () => {
    await stage.listen(() => full(new Promise(() => {})), { slots: 3 })
    stage.waker.wake(0, wakeups('a'))
    const queue = stage.queue()
    let added = 0
    const addsOne = async () => {
      await queue.add('wake', { wakeup: `id ${added++}` })
      return (await queue.getWaitingCount()) >= 5
    }
    expect(await waitUntil('jobs wait', addsOne)).toBe(true)
    expect(await waitUntil('it holds one', async () => (await queue.getActiveCount()) === 1)).toBe(true)
  })

  test('a returned job needs no slot when its copy comes back to this node: a slot has answered it before (WAKE-3)', async () => {
    const slotComes = Promise.withResolvers<FirstClaim | null>()
    let times = 0
    await stage.listen((id) => (times++ === 0 ? full(slotComes.promise) : done(id)), { slots: 1 })
    stage.waker.wake(0, wakeups('a'))
    const queue = stage.queue()
    await waitUntil('it is sent back', async () => (await queue.getWaitingCount()) === 1)
    slotComes.resolve({ wakeup: 'a', isUnfit: false })
    await waitUntil('nothing is left', async () => (await stage.jobs(queue)) === 0)
    expect(times).toBe(1)
  })

  test('a node takes as many jobs at once as before when a slot has answered the job that it held (WAKE-3)', async () => {
    const [slotComes, gate] = [Promise.withResolvers<FirstClaim | null>(), Promise.withResolvers<void>()]
    let [isFull, answering] = [true, 0]
    const onWake = (id: string) => {
      if (isFull) return full(slotComes.promise)
      answering++
      return done(id, gate.promise)
    }
    await stage.listen(onWake, { slots: 2 })
    stage.waker.wake(0, wakeups('a'))
    const queue = stage.queue()
    await waitUntil('it is sent back', async () => (await queue.getWaitingCount()) === 1)
    isFull = false
    slotComes.resolve(null)
    stage.waker.wake(0, wakeups('b', 'c'))
    await waitUntil('both slots are awake', () => answering === 2)
    gate.resolve()
    expect(await waitUntil('all are answered', () => answering === 3)).toBe(true)
  })

  test('a job that comes to a full node keeps the count of unfit nodes that it came to before', async () => {
    await stage.listen(() => full(new Promise(() => {})), { slots: 1 })
    const queue = stage.queue()
    await queue.add('wake', { wakeup: 'a', unfit: 5 }, { jobId: 'a' })
    await waitUntil('it is sent back', async () => (await stage.added(queue)) > 1)
    const waiting = async () => (await queue.getWaiting()).map(({ data }) => data)
    expect(await waitUntil('it waits', async () => (await waiting())[0])).toEqual({ wakeup: 'a', unfit: 5 })
  })
})

describe('jobs that nodes send back', () => {
  test.each([1, 3])(
    'jobs that nodes send back become one, however many there were and how often slots come (WAKE-5; %i slots)',
    async (slots) => {
      await stage.listen(() => full(Promise.resolve(null)), { slots })
      stage.waker.wake(0, wakeups(...Array.from({ length: 20 }, (_, number) => `id ${number}`)))
      const queue = stage.queue()
      await waitUntil('they were sent back', async () => (await stage.added(queue)) > 1)
      expect(await waitUntil('few are left', async () => (await stage.jobs(queue)) <= slots + 1)).toBe(true)
      const names = async () =>
        (await queue.getJobs(['wait', 'active'])).flatMap(({ data }) => [data.wakeup, ...(data.others ?? [])])
      expect(await waitUntil('each is there', async () => new Set(await names()).size === 20)).toBe(true)
    },
  )

  test.each([
    ['came to full nodes', {}],
    ['came to unfit nodes', { unfit: 5 }],
  ])('jobs that nodes send back are all answered when slots are free again, as they %s (WAKE-5)', async (_, more) => {
    const ids = Array.from({ length: 8 }, (_, number) => `id ${number}`)
    const [answered, gate]: [string[], PromiseWithResolvers<void>] = [[], Promise.withResolvers()]
    let [free, slotComes] = [0, Promise.withResolvers<FirstClaim | null>()]
    await stage.listen(
      (id) => {
        if (free === 0) return full(slotComes.promise)
        free--
        answered.push(id)
        return done(id, gate.promise)
      },
      { slots: 10 },
    )
    const leave = (slots: number) => {
      free = slots
      slotComes.resolve(null)
      slotComes = Promise.withResolvers()
    }
    const queue = stage.queue()
    await queue.addBulk(ids.map((id) => ({ name: 'wake', data: { wakeup: id, ...more }, opts: { jobId: id } })))
    await waitUntil('they are sent back', async () => (await stage.added(queue)) > ids.length)
    leave(3)
    await waitUntil('some are answered', () => answered.length === 3)
    leave(5)
    await waitUntil('all are answered', () => answered.length === ids.length)
    expect(answered.toSorted()).toEqual(ids)
    gate.resolve()
  })
})

describe('a job that comes to an unfit node', () => {
  test('a job that comes to an unfit node is sent back 8 times and no more (WAKE-4)', async () => {
    const asked: string[] = []
    await stage.listen((id) => {
      asked.push(id)
      return unfit(id)
    })
    stage.waker.wake(0, wakeups('a'))
    const queue = stage.queue()
    await waitUntil('it came often enough', () => asked.length === 9)
    await waitUntil('nothing is left', async () => (await stage.jobs(queue)) === 0)
    expect(asked).toEqual(Array.from({ length: 9 }, () => 'a'))
  })

  test('a job that comes to an unfit node goes on to another node that can run it (WAKE-4)', async () => {
    const claim = Promise.withResolvers<FirstClaim>()
    const [asked, fit]: [string[], string[]] = [[], []]
    const elsewhere = await stage.listen((id) => {
      asked.push(id)
      return { ...unfit(id), firstClaim: claim.promise }
    })
    stage.waker.wake(0, wakeups('a'))
    await waitUntil('the unfit node has it', () => asked.length === 1)
    // BullMQ might give it to the same node 9 times.
    await elsewhere.stop()
    claim.resolve({ wakeup: 'a', isUnfit: true })
    const queue = stage.queue()
    await waitUntil('it was sent back', async () => (await stage.added(queue)) >= 2)
    await stage.listen((id) => done(id, Promise.resolve(fit.push(id))))
    await waitUntil('it is answered', () => fit.length > 0)
    expect(fit).toEqual(['a'])
    // BullMQ may still give it to the first node while that stops: once, for what it had asked for before.
    expect(asked.length).toBeLessThanOrEqual(2)
  })

  /** Which ids the node is asked for, by how it answers each of them, in any order. */
  test.each([
    ['sends the others on when it is fit', { a: 'done' }, {}, ['a', 'b', 'c']],
    ['keeps the others while it is passed on', { a: 'unfit once' }, {}, ['a', 'a', 'b', 'c']],
    ['sends the others on when it may be passed on no more', { a: 'unfit' }, { unfit: 8 }, ['a', 'b', 'c']],
    ['sends the others on once when its slot leaves unfit work', { a: 'unfit later' }, {}, ['a', 'a', 'b', 'c']],
    // Each of the others is tried once, not 8 times.
    ['is tried once for each other id at last', { a: 'unfit', b: 'unfit', c: 'unfit' }, { unfit: 8 }, ['a', 'b', 'c']],
  ] as const)('a job for several wake-ups that comes to an unfit node %s (WAKE-5)', async (_, how, more, expected) => {
    const asked: string[] = []
    await stage.listen((id) => {
      const isFirst = !asked.includes(id)
      asked.push(id)
      const answer = (how as Readonly<Record<string, string>>)[id]
      if (answer === 'unfit later' && isFirst) return { ...done(id), end: Promise.resolve('unfit') }
      return answer === 'unfit' || (answer === 'unfit once' && isFirst) ? unfit(id) : done(id)
    })
    const queue = stage.queue()
    await queue.add('wake', { wakeup: 'a', others: ['b', 'c'], ...more })
    await waitUntil('all are answered', () => asked.length >= expected.length)
    await waitUntil('nothing is left', async () => (await stage.jobs(queue)) === 0)
    expect(asked.toSorted()).toEqual(expected)
  })
})
