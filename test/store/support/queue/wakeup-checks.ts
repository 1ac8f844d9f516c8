/** Short checks of the rule for wake-ups where turns are short, and of wake-ups that a script publishes to a node. */
import { expect } from 'vitest'
import type { Wakeup } from '../../../../src/core/ports/wake.ts'
import type { Place } from '../place.ts'
import type { Check } from '../turn/checks.ts'

const pool = 'default'

export const fewSlotsAreNotAloneWithALine: Check = async (place) => {
  await place.redis.mset({ [place.keys.slots(pool)]: 50, [place.keys.workersPerWake(pool)]: 16 })
  expect(await wakeupsOfAPost(place, { others: 47 })).toHaveLength(16)
}

export const aNodeGetsAWakeupWhenNoSlotIsAwake: Check = async (place) => {
  await using ears = await listen(place)
  await place.redis.set(place.keys.slots(pool), 50)
  expect(await lettersOfAPost(place)).toEqual(['p'])
  expect(await lettersOfAPost(place, { others: 1, out: 1 })).toEqual(['w'])
  expect(ears.redis.status).toBe('ready')
}

export const aWakeupWithoutAListenerIsReported: Check = async (place) => {
  await place.redis.hset(place.keys.nodes, 'deaf', '0 1 default echo {}')
  expect(await lettersOfAPost(place)).toEqual(['w'])
}

/** Wake-ups of awake slots that cannot run the worker. */
export const aWorkerThatIsPassedOverGetsAWakeup: Check = async (place) => {
  const wakeupsOf = async (id: string) =>
    (await place.node({ id, kinds: { [pool]: ['other'] } }).sweep({ free: 2 })).wakeups
  const { root } = await place.create({ kind: 'other' })
  const now = await place.now()
  await place.redis.zadd(place.keys.wakeups(pool), now + 60_000, 'one', now + 60_000, 'two', now + 60_000, 'three')
  expect(await wakeupsOf('node-b')).toEqual([])
  await queuedSince(place, root, now - place.policy.wakeupMs)
  expect(await wakeupsOf('node-b')).toHaveLength(1)
}

/** The clock was set back since it was queued. */
export const aWorkerAheadOfTheClockGetsAWakeup: Check = async (place) => {
  const { root } = await place.create({ kind: 'other' })
  const sweep = async (free: number) => {
    const over = (await place.now()) + 60_000
    await place.redis.del(place.keys.wakeups(pool))
    await place.redis.zadd(place.keys.wakeups(pool), over, 'one', over, 'two')
    return (await place.node({ kinds: { [pool]: ['other'] } }).sweep({ free })).wakeups
  }
  const ahead = async (ms: number) => queuedSince(place, root, (await place.now()) + ms)
  const { wakeupMs } = place.policy
  await ahead(wakeupMs - 10_000)
  expect([await sweep(1), await sweep(0)]).toEqual([[], []])
  await ahead(wakeupMs + 60_000)
  expect([await sweep(1), await sweep(0)]).toEqual([[expect.anything()], [expect.anything()]])
}

/** The slots of the node work for other pools, and wake-ups of this pool may be lost. */
export const aFullNodeLearnsWhereSomebodyIsLate: Check = async (place) => {
  const { root } = await place.create()
  await place.redis.del(place.keys.wakeups(pool))
  const { wakeupMs } = place.policy
  await queuedSince(place, root, (await place.now()) - wakeupMs + 10_000)
  expect((await place.node().sweep({ free: 0 })).wakeups).toEqual([])
  await queuedSince(place, root, (await place.now()) - wakeupMs)
  expect((await place.node().sweep({ free: 0 })).wakeups).toEqual([
    { pool, id: expect.stringMatching(/^s.*-default-1$/) },
  ])
  expect(await place.redis.exists(place.keys.wakeups(pool))).toBe(0)
}

async function queuedSince(place: Place, worker: string, at: number): Promise<void> {
  await place.redis.hset(place.workerKeys(worker).record, 'queuedAt', at)
}

async function listen(place: Place) {
  await place.redis.hset(place.keys.nodes, 'node-a', '0 1 default echo {}')
  const redis = place.redis.duplicate()
  await redis.subscribe(place.keys.wake(pool, 'node-a'))
  return { redis, [Symbol.asyncDispose]: async () => redis.disconnect() }
}

/** The first letter of an id says whether a node heard the wake-up. */
async function lettersOfAPost(place: Place, scene: Parameters<typeof wakeupsOfAPost>[1] = {}): Promise<unknown[]> {
  return (await wakeupsOfAPost(place, scene)).map(({ id }) => id[0])
}

/** Wakes an idle worker, beside so many others in the run queue and so many wake-ups that are out. */
async function wakeupsOfAPost(place: Place, { others = 0, out = 0 } = {}): Promise<readonly Wakeup[]> {
  const { redis, keys } = place
  await redis.del(keys.run(pool), keys.wakeups(pool))
  const { root } = await place.create({ label: `of ${others}`, mode: 'conversation' })
  await (await place.node().claim()).complete()
  await redis.del(keys.wakeups(pool))
  const now = await place.now()
  for (let number = 0; number < others; number++) await redis.zadd(keys.run(pool), now, `other ${number}`)
  for (let number = 0; number < out; number++) await redis.zadd(keys.wakeups(pool), now + 60_000, `out ${number}`)
  const answer = await place.post(root, `beside ${others}`)
  return answer.kind === 'ok' ? answer.wakeups : []
}
