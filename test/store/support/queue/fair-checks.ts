/** Short checks of who is next in a run queue: sessions share the slots, and none waits for long behind another. */
import { expect } from 'vitest'
import { AuditStore } from '../../../../src/store/audit/audit-store.ts'
import type { Place } from '../place.ts'
import type { Check } from '../turn/checks.ts'

const pool = 'default'

/** A conversation whose first turn is over. */
async function resting(place: Place, label: string, turnShare?: string): Promise<string> {
  const { root } = await place.create({
    label,
    mode: 'conversation',
    ...(turnShare === undefined ? {} : { turnShare }),
  })
  await (await place.node().claim()).complete()
  return root
}

/** Lets the next turn run and end; returns its worker. */
async function next(place: Place, turnMs = 0): Promise<string> {
  const turn = await place.node().claim()
  await turn.complete({ end: { wait: 'any', next: null, turnMs } })
  return turn.worker
}

let keys = 0
const post = (place: Place, root: string) => place.post(root, `m${keys++}`)

const placeOf = async (place: Place, root: string) => Number(await place.redis.zscore(place.keys.run(pool), root))

async function turnsOf(place: Place, root: string, count: number, turnMs = 0): Promise<void> {
  for (let number = 0; number < count; number++) {
    await post(place, root)
    expect(await next(place, turnMs)).toBe(root)
  }
}

/** Without this a worker that comes new would always be in front of one that has worked for long. */
export const whoHasWorkedForLongIsNotPassedByAllThatAreNew: Check = async (place) => {
  const old = await resting(place, 'old')
  await turnsOf(place, old, 9)
  const fresh = await resting(place, 'fresh')
  await turnsOf(place, fresh, 1)
  await post(place, old)
  await post(place, fresh)
  await post(place, fresh)
  expect(await next(place)).toBe(old)
}

export const aSessionRemembersItsPlace: Check = async (place) => {
  const root = await resting(place, 'one')
  await turnsOf(place, root, 3)
  await post(place, root)
  expect(await placeOf(place, root)).toBeGreaterThanOrEqual(4000)
}

export const longTurnsStandFurtherApart: Check = async (place) => {
  const root = await resting(place, 'one')
  await turnsOf(place, root, 1, 2000)
  await post(place, root)
  expect(await placeOf(place, root)).toBeGreaterThanOrEqual(2_000_000)
}

/** Turns that last less than a millisecond say no time. */
export const shortTurnsStandCloserAgain: Check = async (place) => {
  const root = await resting(place, 'one')
  await turnsOf(place, root, 1, 2000)
  await turnsOf(place, root, 20)
  await post(place, root)
  const before = await placeOf(place, root)
  await next(place)
  await post(place, root)
  expect((await placeOf(place, root)) - before).toBeLessThan(2_000_000)
}

export const aLostTimeIsThatOfTheFirst: Check = async (place) => {
  const [one, two] = [await resting(place, 'one'), await resting(place, 'two')]
  await turnsOf(place, one, 5)
  await post(place, one)
  await place.redis.del(place.keys.clocks)
  await post(place, two)
  expect(await placeOf(place, two)).toBeGreaterThanOrEqual(await placeOf(place, one))
}

export const aDamagedPlaceKeepsNobodyBack: Check = async (place) => {
  const root = await resting(place, 'one')
  await place.redis.hset(place.workerKeys(root).record, 'score', '900000000000000')
  await post(place, root)
  expect(await placeOf(place, root)).toBeLessThan(100_000_000_000_000)
}

export const aHigherPriorityIsFirst: Check = async (place) => {
  const [, urgent] = [await resting(place, 'early'), await resting(place, 'urgent', '1 1')]
  await turnsOf(place, urgent, 3, 300)
  await place.create({ label: 'before' })
  await post(place, urgent)
  expect(await next(place)).toBe(urgent)
}

export const whoMovesStandsBehindWhoIsThere: Check = async (place) => {
  const { root } = await place.create({ label: 'moved', kind: 'moved' })
  await place.node({ id: 'node-a' }).sweep({ free: 0, leaving: true })
  const { root: there } = await place.create({ label: 'there', pool: 'new', kind: 'moved' })
  await place.redis.hset(place.keys.kinds, 'moved', 'new {"description":""}')
  await place.node({ id: 'node-b', kinds: { new: ['moved'] } }).sweep({ free: 5 })
  expect(await place.redis.zrange(place.keys.run('new'), 0, '-1')).toEqual([there, root])
}

const foreign = { kinds: { [pool]: ['other'] } } as const

/** Two of a kind that the node of the claim does not host, in front of one that it does. */
async function queueByKind(place: Place): Promise<string[]> {
  const ids: string[] = []
  for (const label of ['first', 'second']) ids.push((await place.create({ label, kind: 'other' })).root)
  await place.create({ label: 'fit' })
  expect((await place.node().claim()).assignment.name).toBe('fit')
  return ids
}

const inKindQueue = (place: Place) => place.redis.zrange(place.keys.kindQueue(pool, 'other'), 0, '-1')

export const whatANodeCannotRunGoesToTheQueueOfItsKind: Check = async (place) => {
  const ids = await queueByKind(place)
  expect(await inKindQueue(place)).toEqual(ids)
  expect(await place.redis.zcard(place.keys.run(pool))).toBe(0)
}

/** This holds also behind work of its own that came later. */
export const whoHostsAKindRunsItsQueue: Check = async (place) => {
  const [first, second] = await queueByKind(place)
  await place.create({ label: 'later' })
  const node = place.node({ id: 'node-b', kinds: { [pool]: ['other', 'echo'] } })
  const turns = [await node.claim(), await node.claim(), await node.claim()]
  expect(turns.map(({ worker }) => worker).slice(0, 2)).toEqual([first, second])
  expect(turns[2]?.assignment.name).toBe('later')
  expect(await place.redis.exists(place.keys.kindQueues(pool), place.keys.kindQueue(pool, 'other'))).toBe(0)
}

export const aWorkerInTheQueueOfItsKindIsNoFinding: Check = async (place) => {
  const [first = ''] = await queueByKind(place)
  const { workers } = await new AuditStore(place.redis, place.caller, place.keys, 0, 20_000).look(null, [first], [pool])
  expect(workers[0]?.queuedIn).toEqual([pool])
}

export const aQueueOfAKindEndsWithItsLastNode: Check = async (place) => {
  const ids = await queueByKind(place)
  await place.node().sweep({ free: 0 })
  expect(await place.redis.zrange(place.keys.run('unhosted'), 0, '-1')).toEqual(ids)
  expect(await place.redis.exists(place.keys.kindQueues(pool))).toBe(0)
}

export const aQueueOfAKindGetsAWakeup: Check = async (place) => {
  await queueByKind(place)
  await place.redis.del(place.keys.wakeups(pool))
  expect((await place.node({ id: 'node-b', ...foreign }).sweep({ free: 2 })).wakeups).toHaveLength(2)
  await place.redis.del(place.keys.wakeups(pool), place.keys.run(pool))
  await place.redis.set(place.keys.slots(pool), 50)
  const { wakeups } = await place.create({ label: 'more', pool: 'else' })
  expect(wakeups).toHaveLength(1)
  expect((await place.create({ label: 'again' })).wakeups).toHaveLength(2)
}

/** 1 500 sessions of another kind stand in front: one claim passes some of them, and none looks at these again. */
export const nothingHidesBehindOthersKinds: Check = async (place) => {
  const node = place.node()
  for (let number = 0; number < 700; number++) await place.create({ label: `x${number}`, kind: 'other' })
  await place.create({ label: 'fit' })
  await node.ask()
  expect((await node.claim()).assignment.name).toBe('fit')
}

export const aWakeupGoesOnToWhoHostsTheKind: Check = async (place) => {
  await queueByKind(place)
  expect(await place.node().ask()).toEqual({ kind: 'unfit' })
}

/** Only a worker that is gone, or one of a paused session, is in the queue: nobody else would take the kind out of the set again. */
export const anEmptyQueueOfAKindIsForgotten: Check = async (place) => {
  await queueByKind(place)
  const node = place.node({ id: 'node-b', ...foreign })
  for (const id of await inKindQueue(place)) await place.redis.hset(place.workerKeys(id).record, 'status', 'idle')
  await node.ask()
  expect(await place.redis.exists(place.keys.kindQueues(pool))).toBe(0)
}

export const anOverwrittenQueueOfAKindLosesNobody: Check = async (place) => {
  const { root } = await place.create({ kind: 'other' })
  await place.redis.set(place.keys.kindQueue(pool, 'other'), 'mine')
  expect(await place.node().ask()).toEqual({ kind: 'unfit' })
  expect(await place.redis.zrange(place.keys.run(pool), 0, '-1')).toEqual([root])
}

export const anOverwrittenQueueOfAKindStopsNoClaim: Check = async (place) => {
  await queueByKind(place)
  await place.redis.set(place.keys.kindQueue(pool, 'other'), 'mine')
  await place.create({ label: 'later' })
  const node = place.node({ id: 'node-b', kinds: { [pool]: ['other', 'echo'] } })
  expect((await node.claim()).assignment.name).toBe('later')
  expect(await node.ask().catch(() => null)).toEqual({ kind: 'empty' })
  expect((await node.sweep({ free: 2 })).healed).toBe(0)
}

export const aQueueOfAKindFollowsItsKind: Check = async (place) => {
  const ids = await queueByKind(place)
  await place.node().sweep({ free: 0, leaving: true })
  await place.redis.hset(place.keys.kinds, 'other', 'new {"description":""}')
  await place.node({ id: 'node-b', kinds: { new: ['other'] } }).sweep({ free: 0 })
  expect(await place.redis.zrange(place.keys.run('new'), 0, '-1')).toEqual(ids)
}
