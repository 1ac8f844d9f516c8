/** How a node takes in the partitions that come while it runs (GROWTH-1). */
import { afterEach, expect, test, vi } from 'vitest'
import type { WorkerLog } from '../../../src/core/definition/worker-log.ts'
import { Growth } from '../../../src/runtime/node/growth.ts'

const away = () => Promise.reject(new Error('Redis is away'))
const cannot = 'the number of partitions was raised, and this node cannot work in the new ones yet; it tries again'
const works = 'the number of partitions was raised: this node works in the new ones, too'

/** A node of one partition, whose `does` can be changed. It notes what it says, and how often it has looked. */
function node(count: () => Promise<number>) {
  const said: string[] = []
  const tell = (message: string) => void said.push(message)
  const log = { debug: tell, info: tell, warn: tell, error: tell } as unknown as WorkerLog
  const does = { count, open: () => Promise.resolve() }
  const has = { looked: 0, partitions: 1, said }
  const growth = new Growth({
    count() {
      has.looked++
      return does.count()
    },
    known: () => has.partitions,
    open(partitions) {
      has.partitions = partitions
      return does.open()
    },
    goodbyeMs: 3_000,
    log,
  })
  return { growth, does, has }
}

afterEach(() => {
  vi.useRealTimers()
})

test('a node says that the number was raised only when it has read the new one', async () => {
  const { growth, does, has } = node(away)
  await growth.ready()
  await growth.look()
  expect(has.said).toEqual([])
  does.count = () => Promise.resolve(2)
  await growth.look()
  await growth.look()
  await growth.stop()
  expect(has.said).toEqual([works])
})

test('a node that fails to work in new partitions says so once, and tries again until it does', async () => {
  vi.useFakeTimers()
  const { growth, does, has } = node(() => Promise.resolve(2))
  does.open = away
  await growth.ready()
  await growth.look()
  await vi.advanceTimersByTimeAsync(2_000)
  expect([has.looked, has.said]).toEqual([2, [cannot]])
  does.open = () => Promise.resolve()
  await vi.advanceTimersByTimeAsync(2_000)
  expect([has.looked, has.said]).toEqual([3, [cannot, works]])
  await vi.advanceTimersByTimeAsync(60_000)
  expect(has.looked).toBe(3)
})

test('a node that is asked to look before it has started looks when it has', async () => {
  const { growth, has } = node(() => Promise.resolve(2))
  await growth.look()
  expect(has.looked).toBe(0)
  await growth.ready()
  expect(has.looked).toBe(1)
  await growth.look()
  expect(has.said).toEqual([works])
  const { growth: unasked, has: hasNot } = node(() => Promise.resolve(2))
  await unasked.ready()
  expect(hasNot.looked).toBe(0)
})

test('a node looks once at a time, and once more if it was asked meanwhile', async () => {
  const first = Promise.withResolvers<number>()
  const { growth, does, has } = node(() => first.promise)
  await growth.ready()
  const looking = growth.look()
  does.count = () => Promise.resolve(3)
  const asked = [growth.look(), growth.look()]
  expect(has.looked).toBe(1)
  first.resolve(1)
  await Promise.all([looking, ...asked])
  expect([has.looked, has.partitions]).toEqual([2, 3])
})

test('a node that stops waits for the look in progress, and looks no more', async () => {
  vi.useFakeTimers()
  const opening = Promise.withResolvers<void>()
  const { growth, does, has } = node(() => Promise.resolve(2))
  does.open = () => opening.promise
  await growth.ready()
  void growth.look()
  let isStopped = false
  const stopping = growth.stop().then(() => {
    isStopped = true
  })
  await vi.advanceTimersByTimeAsync(1)
  expect(isStopped).toBe(false)
  void growth.look()
  opening.reject(new Error('Redis is away'))
  await stopping
  await vi.advanceTimersByTimeAsync(60_000)
  expect(has.looked).toBe(1)
})

test('a node that stops while Redis does not answer its look waits no longer than for its other last calls (GROWTH-2)', async () => {
  vi.useFakeTimers()
  const { growth } = node(() => new Promise(() => {}))
  await growth.ready()
  void growth.look()
  let isStopped = false
  void growth.stop().then(() => {
    isStopped = true
  })
  await vi.advanceTimersByTimeAsync(2_999)
  expect(isStopped).toBe(false)
  await vi.advanceTimersByTimeAsync(1)
  expect(isStopped).toBe(true)
})

test('a node that stops while it waits to try again tries no more', async () => {
  vi.useFakeTimers()
  const { growth, has } = node(away)
  await growth.ready()
  await growth.look()
  await growth.stop()
  await vi.advanceTimersByTimeAsync(60_000)
  expect(has.looked).toBe(1)
})
