/** Like checks.ts, of sessions whose result goes somewhere: their end stands among the timers until a node has told of it. */
import { expect } from 'vitest'
import type { Check } from './checks.ts'
import type { Place } from './place.ts'

/** A session whose root is claimed. */
async function told(place: Place, mode: 'job' | 'conversation' = 'job') {
  const { id, root } = await place.create({ mode })
  await place.redis.hset(place.workerKeys(root).record, 'notify', '{"queue":"results"}')
  const node = place.node()
  const turn = await node.claim()
  const timer = () => place.redis.zscore(place.keys.timers, `${root}:notify`)
  return { id, root, node, turn, timer }
}

export const anEndIsToBeTold: Check = async (place) => {
  const { turn, timer } = await told(place)
  expect(await timer()).toBeNull()
  await turn.complete()
  expect(await timer()).not.toBeNull()
}

export const aClosedSessionIsToBeTold: Check = async (place) => {
  const { id, turn, timer } = await told(place, 'conversation')
  await turn.complete()
  expect(await timer()).toBeNull()
  await place.sessions.close(id)
  expect(await timer()).not.toBeNull()
}

export const aResultIsToldOnce: Check = async (place) => {
  const { id, node, turn, timer } = await told(place)
  await turn.complete()
  expect((await node.upkeep.fire()).notices).toEqual([id])
  expect((await node.upkeep.fire()).notices).toEqual([])
  expect(await timer()).not.toBeNull()
  await node.upkeep.fire([id])
  expect(await timer()).toBeNull()
}

/** Its first end was delivered, and before the node said so it was retried and ended again. */
export const aLaterEndIsTold: Check = async (place) => {
  const { id, root, node, turn } = await told(place)
  await turn.complete()
  expect((await node.upkeep.fire()).notices).toEqual([id])
  await place.redis.zadd(place.keys.timers, await place.now(), `${root}:notify`)
  expect((await node.upkeep.fire([id])).notices).toEqual([id])
}

export const aPrunedSessionIsToldOfNoMore: Check = async (place) => {
  const { turn, timer } = await told(place)
  await turn.complete()
  expect(await place.sessions.prune(0)).toBe(1)
  expect(await timer()).toBeNull()
}
