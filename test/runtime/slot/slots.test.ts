/** How the slots of a node are shared by its pools and partitions. */
import { Queue } from 'bullmq'
import { describe, expect, test, vi } from 'vitest'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { partitionOfKey } from '../../../src/core/ids.ts'
import type { Waker } from '../../../src/core/ports/wake.ts'
import { type RunQueue, Slots } from '../../../src/runtime/slot/slots.ts'
import { partitionKeys, tagOf } from '../../../src/store/keys.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { awaitResult } from '../../support/time/await-session.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const inBusy = defineWorker({ pool: 'busy', receive: (_, self) => self.send(self.id, null) })
const inOther = defineWorker({ pool: 'other', receive: (message, self) => self.reply(message.value) })
const endless = defineWorker({ receive: (_, self) => self.send(self.id, null) })
const quick = defineWorker({ receive: (message, self) => self.reply(message.value) })

test('a run queue that got a slot after it found none does not wait for another one', () => {
  const slots = new Slots(1)
  const [first, second] = ['a', 'b'].map((pool) => ({ partition: 0, wakeup: { id: pool, pool } })) as [
    RunQueue,
    RunQueue,
  ]
  const slot = slots.take(first) as number
  expect([slots.take(second), slots.waitingElsewhere(first)]).toEqual([null, second])
  slots.give(slot)
  expect([slots.take(second), slots.waitingElsewhere(first)]).toEqual([slot, undefined])
})

test('a free slot goes to the queue that waits for longest, and to its own queue last (SLOTS-2)', () => {
  const [a, b, c] = ['a', 'b', 'c'].map(
    (pool): RunQueue => ({ partition: 0, wakeup: { id: `b1-${pool}-1`, pool } }),
  ) as [RunQueue, RunQueue, RunQueue]
  /** Both slots were taken, by `a` first; both lines wait for more, `b` first. */
  const bothWait = () => {
    const slots = new Slots(2)
    for (const queue of [a, b, b, a]) slots.take(queue)
    return slots
  }
  expect(bothWait().waitingElsewhere(c)).toBe(a)
  const left = bothWait()
  left.leave(a)
  expect(left.waitingElsewhere(c)).toBe(b)
  const ended = bothWait()
  expect(ended.waitingAfter(a)).toBe(b)
  expect(ended.waitingElsewhere(c)).toBe(b)
  const isolated = new Slots(1)
  for (const queue of [a, a]) isolated.take(queue)
  expect([isolated.waitingElsewhere(a), isolated.waitingAfter(a)]).toEqual([undefined, a])
})

test('a caller that waits for a slot to come to a queue learns of each one, and at once if the queue does not wait', async () => {
  const slots = new Slots(1)
  const [first, second] = ['a', 'b'].map((pool) => ({ partition: 0, wakeup: { id: pool, pool } })) as [
    RunQueue,
    RunQueue,
  ]
  slots.take(first)
  await slots.came(second)
  for (const round of [1, 2]) {
    slots.take(second)
    const told: string[] = []
    const waiting = ['one', 'other'].map((who) => slots.came(second).then(() => told.push(who)))
    await slots.came(first)
    expect(told, `in round ${round}`).toEqual([])
    slots.tellCame(second, null)
    await Promise.all(waiting)
    expect(told).toEqual(['one', 'other'])
  }
  slots.take(second)
  slots.tellAll()
  await slots.came(second)
})

describe('a slot that ends goes to the run queue that had none for longest', () => {
  const wokenIn = (pool: string): RunQueue => ({ partition: 0, wakeup: { id: pool, pool } })
  const busy = ['a', 'b', 'c', 'd'].map(wokenIn)

  /** Slots that have gone round all lines, which always have work: those of the first lines of the answer are taken. */
  function goRound(slots: Slots): RunQueue[] {
    const taken = busy.slice(0, slots.total)
    for (const queue of busy) slots.take(queue)
    for (let round = 0; round < 10; round++) moveOn(slots, taken)
    return taken
  }

  /** The slot that came first ends in the middle of its work, and goes to this line. */
  function moveOn(slots: Slots, taken: RunQueue[]): string {
    const ended = taken.shift() as RunQueue
    slots.leave(ended)
    slots.give(0)
    const next = slots.waitingAfter(ended) as RunQueue
    slots.take(next)
    taken.push(next)
    return next.wakeup.pool
  }

  test.each([1, 2])('a free slot goes to each run queue in turn if all always have work (%d slots)', (total) => {
    const slots = new Slots(total)
    const taken = goRound(slots)
    const order = Array.from({ length: 8 }, () => moveOn(slots, taken))
    expect(new Set(order.slice(0, 4))).toEqual(new Set(['a', 'b', 'c', 'd']))
    expect(order.slice(4)).toEqual(order.slice(0, 4))
  })

  test.each([1, 2])(
    'a free slot goes to a run queue that had nothing to do before those that always have work (%d slots)',
    (total) => {
      const slots = new Slots(total)
      const taken = goRound(slots)
      expect(slots.take(wokenIn('seldom'))).toBeNull()
      expect(moveOn(slots, taken)).toBe('seldom')
      // With one of its messages after the other it is not before them again.
      const after = taken.pop() as RunQueue
      slots.give(0)
      taken.push(slots.waitingAfter(after) as RunQueue)
      slots.take(taken.at(-1) as RunQueue)
      slots.take(wokenIn('seldom'))
      const order = Array.from({ length: busy.length - total }, () => moveOn(slots, taken))
      expect(order).not.toContain('seldom')
    },
  )
})

test.each([
  ['its wake-up has lasted its bound', { wakeupJobMs: 50, wakeupMs: 600_000 }],
  ['a wake-up that finds no worker would be stale', { wakeupJobMs: 600_000, wakeupMs: 300 }],
])('a slot whose pool always has work serves another pool when %s (SLOTS-2)', async (_, policy) => {
  await using troupe = await TestTroupe.start({
    workers: { inBusy, inOther },
    concurrency: 1,
    policy: { turnSliceSteps: 5, ...policy },
  })
  const busy = await troupe.create('inBusy')
  for (const number of [1, 2, 3]) expect(await troupe.run('inOther', number)).toMatchObject({ value: number })
  expect((await busy.root.report()).status).not.toBe('parked')
})

test('a slot whose partition always has work serves another partition (SLOTS-2)', async () => {
  await using troupe = await TestTroupe.connect({ partitions: 2 })
  await troupe.startNode({ endless, quick }, { concurrency: 1, policy: { turnSliceSteps: 5, wakeupMs: 300 } })
  const keys = Array.from({ length: 100 }, (_, number) => `key ${number}`)
  const keyIn = (partition: number) => keys.find((key) => partitionOfKey(key, 2) === partition) as string
  await troupe.create('endless', null, { idempotencyKey: keyIn(0) })
  const session = await troupe.create('quick', 'hello', { idempotencyKey: keyIn(1) })
  expect(await awaitResult(session)).toMatchObject({ value: 'hello' })
})

test('a slot whose partition always has work serves another one, even if no wake-up comes from there (SLOTS-2)', async () => {
  await using troupe = await TestTroupe.connect({ partitions: 2 })
  await troupe.startNode({ endless, quick }, { concurrency: 1, policy: { turnSliceSteps: 5, wakeupMs: 300 } })
  const keys = Array.from({ length: 100 }, (_, number) => `key ${number}`)
  const keyIn = (partition: number) => keys.find((key) => partitionOfKey(key, 2) === partition) as string
  const first = await troupe.create('endless', null, { idempotencyKey: keyIn(0) })
  await waitUntil('the slot is taken', async () => (await first.root.report()).status === 'running')
  const prefix = partitionKeys(tagOf(troupe.namespace, 1)).queuePrefix
  const queue = new Queue('wakeup-default', { connection: troupe.redis, prefix })
  await queue.pause()
  const session = await troupe.create('quick', 'hello', { idempotencyKey: keyIn(1) })
  expect(await awaitResult(session)).toMatchObject({ value: 'hello' })
  await queue.close()
})

test.each([
  ['a wake-up there would be stale', { wakeupJobMs: 600_000, wakeupMs: 100 }],
  ['its own wake-up has lasted its bound', { wakeupJobMs: 100, wakeupMs: 600_000 }],
])(
  'a slot that went to another queue which waited as %s comes back, even if no wake-up calls it (SLOTS-2)',
  async (_, bounds) => {
    const wakerMade = Promise.withResolvers<Waker>()
    await using troupe = await TestTroupe.connect()
    let turns = 0
    const counted = defineWorker({
      pool: 'busy',
      receive(_, self) {
        turns++
        self.send(self.id, null)
      },
    })
    let before = Number.POSITIVE_INFINITY
    const inBetween = defineWorker({
      pool: 'other',
      receive(message, self) {
        before = turns
        self.reply(message.value)
      },
    })
    const policy = { turnSliceSteps: 5, ...bounds, sweepEveryMs: 600_000 }
    const settings = { concurrency: 1, policy, wakeups: 'in-process', onWaker: wakerMade.resolve } as const
    await troupe.startNode({ counted, inBetween }, settings)
    await troupe.create('counted')
    const session = await troupe.create('inBetween', 'hello')
    const waker = await wakerMade.promise
    const wake = waker.wake.bind(waker)
    vi.spyOn(waker, 'wake').mockReturnValue(undefined)
    wake(0, [{ id: 'one', pool: 'busy' }])
    wake(0, [{ id: 'two', pool: 'other' }])
    expect(await awaitResult(session)).toMatchObject({ value: 'hello' })
    expect(await waitUntil('the first line goes on', () => turns > before)).toBe(true)
  },
)

test('wake-ups that became one job, because all slots were taken, are all answered when slots leave another queue at once (WAKE-5)', async () => {
  await using troupe = await TestTroupe.connect()
  const [ends, running]: [(() => void)[], Set<unknown>] = [[], new Set()]
  const held = defineWorker({
    pool: 'busy',
    receive: () => new Promise<void>((resolve) => void ends.push(resolve)),
  })
  const gate = Promise.withResolvers<void>()
  const waiting = defineWorker({
    pool: 'other',
    async receive(message) {
      running.add(message.value)
      await gate.promise
    },
  })
  const slots = 16
  const numbers = Array.from({ length: slots }, (_, number) => number)
  // No sweep comes, and no wake-up goes stale.
  const policy = { wakeupMs: 600_000, sweepEveryMs: 600_000, leaseMs: 600_000, renewEveryMs: 200_000 }
  await troupe.startNode({ held, waiting }, { concurrency: slots, policy })
  for (const number of numbers) await troupe.create('held', number)
  await waitUntil('all slots are taken', () => ends.length === slots)
  for (const number of numbers) await troupe.create('waiting', number)
  const queue = new Queue('wakeup-other', { connection: troupe.redis, prefix: `${troupe.tag}:q` })
  // BullMQ counts all that were ever added.
  const wakeupsAdded = async () => Number(await troupe.redis.get(queue.toKey('id')))
  const areTogether = async () => {
    const jobs = await queue.getWaiting()
    return jobs.length === 1 && jobs[0]?.data.others?.length > 1
  }
  while (!(await areTogether())) {
    expect(ends.length).toBeGreaterThan(4)
    const [runningBefore, addedBefore] = [running.size, await wakeupsAdded()]
    ends.shift()?.()
    await waitUntil('a slot goes to the run queue that waits', () => running.size > runningBefore)
    await waitUntil('others come to a full node again', async () => (await wakeupsAdded()) > addedBefore)
    await waitUntil('they wait for a node again', async () => (await queue.getWaitingCount()) > 0)
  }
  for (const end of ends.splice(0)) end()
  expect(await waitUntil('all run', () => running.size === slots)).toBe(true)
  gate.resolve()
  await queue.close()
})

describe('a wake-up that comes to a full node', () => {
  // No sweep comes, and no wake-up goes stale.
  const policy = { wakeupMs: 600_000, sweepEveryMs: 600_000, leaseMs: 600_000, renewEveryMs: 200_000 }
  const queueOf = ({ namespace }: TestTroupe, partition: number) =>
    `${partitionKeys(tagOf(namespace, partition)).queuePrefix}:wakeup-default`
  // BullMQ counts all that were ever added.
  const wakeupsAdded = async (troupe: TestTroupe, partition: number) =>
    Number(await troupe.redis.get(`${queueOf(troupe, partition)}:id`))
  const jobs = async (troupe: TestTroupe, partition: number) => {
    const lists = ['wait', 'active'].map((state) => troupe.redis.llen(`${queueOf(troupe, partition)}:${state}`))
    return (await Promise.all(lists)).reduce((total, length) => total + length)
  }

  test('a wake-up that comes to a full node is sent again once, and answered when a slot comes to its run queue, however many queues wait', async () => {
    await using troupe = await TestTroupe.connect({ partitions: 4 })
    const ends = new Map<unknown, () => void>()
    const held = defineWorker({
      receive: (message) => new Promise<void>((resolve) => void ends.set(message.value, resolve)),
    })
    const keys = Array.from({ length: 100 }, (_, number) => `key ${number}`)
    const createIn = (partition: number) =>
      troupe.create('held', partition, {
        idempotencyKey: keys.find((key) => partitionOfKey(key, 4) === partition) as string,
      })
    await troupe.startNode({ held }, { concurrency: 1, policy })
    await createIn(0)
    await waitUntil('the slot is taken', () => ends.has(0))
    for (const partition of [1, 2, 3]) {
      await createIn(partition)
      await waitUntil('its wake-up is sent again', async () => (await wakeupsAdded(troupe, partition)) === 2)
    }
    for (const partition of [1, 2, 3]) {
      ends.get(partition - 1)?.()
      await waitUntil('the slot goes to the next line', () => ends.has(partition))
      await waitUntil('whose jobs have been answered', async () => (await jobs(troupe, partition)) === 0)
      expect(await Promise.all([1, 2, 3].map((one) => wakeupsAdded(troupe, one)))).toEqual([2, 2, 2])
    }
    ends.get(3)?.()
  })

  test('a wake-up that comes to a full node goes on to others when a slot comes to its run queue that can run none of its workers', async () => {
    await using troupe = await TestTroupe.connect()
    const end = Promise.withResolvers<void>()
    let isTaken = false
    const held = defineWorker({
      pool: 'busy',
      receive() {
        isTaken = true
        return end.promise
      },
    })
    const other = await troupe.startNode({ elsewhere: quick })
    await troupe.startNode({ held, quick }, { concurrency: 1, policy })
    await other.stop()
    await troupe.create('held')
    await waitUntil('the slot is taken', () => isTaken)
    await troupe.create('elsewhere')
    await waitUntil('its wake-up is sent again', async () => (await wakeupsAdded(troupe, 0)) === 2)
    end.resolve()
    // It is received eight times without a free slot.
    await waitUntil('it goes on', async () => (await wakeupsAdded(troupe, 0)) >= 10)
    expect(await waitUntil('and not for ever', async () => (await jobs(troupe, 0)) === 0)).toBe(true)
  })
})
