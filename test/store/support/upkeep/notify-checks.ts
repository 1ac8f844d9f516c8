/** Like checks.ts, for notices: a notice stays among the timers until a node has sent it. */
import { expect } from 'vitest'
import { newId } from '../../../../src/core/ids.ts'
import type { EndpointRecord } from '../../../../src/core/webhook/endpoint.ts'
import { EndpointStore } from '../../../../src/store/endpoint-store.ts'
import { endpointKeys } from '../../../../src/store/keys.ts'
import { ask } from '../person/ask-checks.ts'
import type { Place } from '../place.ts'
import type { Check } from '../turn/checks.ts'

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
  const { root, node, turn, timer } = await told(place)
  await turn.complete()
  expect((await node.upkeep.fire()).notices).toEqual([`${root}:notify`])
  expect((await node.upkeep.fire()).notices).toEqual([])
  expect(await timer()).not.toBeNull()
  await node.upkeep.fire([`${root}:notify`])
  expect(await timer()).toBeNull()
}

export const anUntoldNoticeComesEverMoreRarely: Check = async (place) => {
  const { root, node, turn, timer } = await told(place)
  await turn.complete()
  const pauses: number[] = []
  for (let times = 0; times < 7; times++) {
    const before = await place.now()
    expect((await node.upkeep.fire()).notices).toEqual([`${root}:notify`])
    const score = Number(await timer())
    // In half minutes.
    pauses.push(Math.floor((score - before) / 30_000))
    // It is due; the rest of its score stays.
    await place.redis.zadd(place.keys.timers, 1 + (score % 1), `${root}:notify`)
  }
  expect(pauses).toEqual([1, 2, 4, 8, 16, 32, 32])
}

/** The first end of the session was delivered, and before the node said so the session was retried and ended again. */
export const aLaterEndIsTold: Check = async (place) => {
  const { root, node, turn } = await told(place)
  const notice = `${root}:notify`
  await turn.complete()
  expect((await node.upkeep.fire()).notices).toEqual([notice])
  await place.redis.zadd(place.keys.timers, await place.now(), notice)
  expect((await node.upkeep.fire([notice])).notices).toEqual([notice])
}

export const aPrunedSessionIsToldOfNoMore: Check = async (place) => {
  await endpointsOf(place).listen(newId(0), true)
  const { turn } = await told(place)
  await turn.complete()
  expect(await noticesIn(place)).toHaveLength(2)
  expect(await place.sessions.prune(0)).toBe(1)
  expect(await noticesIn(place)).toEqual([])
}

export function endpointsOf({ caller, keys, redis, wire, deadlineMs }: Place): EndpointStore {
  return new EndpointStore([{ partition: 0, keys, prefix: '', redis: wire.face ?? redis, caller }], deadlineMs)
}

/** The notices that stand among the timers. */
const noticesIn = async ({ redis, keys }: Place) =>
  (await redis.zrange(keys.timers, 0, '-1')).filter((timer) => timer.includes(':notify'))

/** An endpoint gets the ends of a job, of a closed and a cancelled conversation and of a cancelled run, but only while it listens. */
async function endsAreHeard(place: Place, end: (root: string, id: string) => Promise<unknown>, mode?: 'conversation') {
  const endpoints = endpointsOf(place)
  const webhook = newId(0)
  await endpoints.listen(webhook, true)
  const { id, root } = await place.create({ ...(mode && { mode }) })
  await end(root, id)
  expect(await noticesIn(place)).toEqual([`${root}:notify:end`])
  await endpoints.listen(webhook, false)
  const other = await place.create({ ...(mode && { mode }) })
  await end(other.root, other.id)
  expect(await noticesIn(place)).toEqual([`${root}:notify:end`])
}

export const anEndIsHeard: Check = (place) => endsAreHeard(place, async () => (await place.node().claim()).complete())

export const aCloseIsHeard: Check = (place) =>
  endsAreHeard(
    place,
    async (_, id) => {
      await (await place.node().claim()).complete()
      await place.sessions.close(id)
    },
    'conversation',
  )

export const aCancelIsHeard: Check = (place) =>
  endsAreHeard(place, async (_, id) => {
    await place.sessions.cancel(id, 'enough')
    await place.node().upkeep.finishCancelled()
  })

export const anAskIsHeard: Check = async (place) => {
  await endpointsOf(place).listen(newId(0), true)
  const { turn, id } = await ask(place)
  expect(await noticesIn(place)).toEqual([`${turn.worker}:notify:${id}`])
  expect((await turn.node.upkeep.fire()).notices).toEqual([`${turn.worker}:notify:${id}`])
}

export const aDeadLetterIsHeard: Check = async (place) => {
  await endpointsOf(place).listen(newId(0), true)
  await place.create({ mode: 'conversation' })
  const turn = await place.node().claim()
  await turn.complete({ dead: '{"code":"poison"}', outcome: 'failed', runState: 'Failed' })
  const [letter] = await place.redis.xrange(place.keys.dead, '-', '+')
  expect(await noticesIn(place)).toEqual([`${turn.worker}:notify:${letter?.[0]}`])
}

/** Enabling an endpoint once more changes nothing: it gets what happened in between. */
export const aListenerStays: Check = async (place) => {
  const endpoints = endpointsOf(place)
  await endpoints.listen('one', true)
  await place.redis.zadd(endpointKeys(place.keys.tag).since, 1, 'one')
  await endpoints.listen('one', true)
  expect(await endpoints.listeners(0)).toEqual(new Map([['one', 1]]))
}

/** Leaves an endpoint as if the clock had been set back by an hour since it listens. */
export const aListenerIsToldAfterTheClockWasSetBack: Check = async (place) => {
  const endpoints = endpointsOf(place)
  const { since } = endpointKeys(place.keys.tag)
  const ahead = (await place.now()) + 3_600_000
  await place.redis.zadd(since, ahead, 'one', 1, 'before')
  await place.redis.hset(place.keys.meta, 'sweptAt', ahead)
  await place.node().upkeep.sweep(1, [], false)
  const listeners = await endpoints.listeners(0)
  expect(listeners.get('one')).toBeLessThanOrEqual(await place.now())
  expect(listeners.get('before')).toBe(1)
}

export const record: EndpointRecord = {
  url: 'https://example.com/',
  types: ['session.completed'],
  kinds: null,
  names: null,
  include: 'ids',
  secret: 'whsec_1',
  previous: [],
  isEnabled: true,
  createdAt: 1,
  createdBy: null,
  changedAt: null,
  changedBy: null,
}

export const aChangedEndpointIsReadAgain: Check = async (place) => {
  const endpoints = endpointsOf(place)
  expect(await endpoints.write('one', null, record, 5)).toBe('ok')
  const before = await endpoints.get('one')
  expect(await endpoints.write('one', before, { ...record, secret: 'whsec_2' }, 5)).toBe('ok')
  expect(await endpoints.write('one', before, { ...record, isEnabled: false }, 5)).toBe('changed')
  expect(await endpoints.write('one', before, null, 5)).toBe('changed')
  expect((await endpoints.get('one'))?.record).toEqual({ ...record, secret: 'whsec_2' })
}

export const endpointsAreBounded: Check = async (place) => {
  const endpoints = endpointsOf(place)
  expect(await endpoints.write('one', null, record, 1)).toBe('ok')
  expect(await endpoints.write('two', null, record, 1)).toBe('full')
  expect(await endpoints.write('one', await endpoints.get('one'), { ...record, isEnabled: false }, 1)).toBe('ok')
  expect(await endpoints.list()).toHaveLength(1)
}
