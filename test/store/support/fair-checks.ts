/** Short checks of who is next in a run queue: sessions share the slots, and none waits for long behind another. */
import { expect } from 'vitest'
import type { Check } from './checks.ts'
import type { Place } from './place.ts'

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

/** Of the next turn: whose it is. It ends at once. */
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

/** Else who comes new would always be in front of who has worked for long. */
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
