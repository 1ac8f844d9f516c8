/** Like checks.ts, of what cancels have still to end, and what an ended run leaves behind. */
import { Redis } from 'ioredis'
import { expect } from 'vitest'
import { waitUntil } from '../../../support/time/wait-until.ts'
import type { Place } from '../place.ts'
import { forked } from '../session/fork-checks.ts'
import { cancelledEnd } from './cancel-scenes.ts'
import { type Check, resultOf } from './checks.ts'

const statusOf = async (place: Place, id: string) => (await place.record(id)).status

/** A conversation whose root waits for two children, of which the first waits for one of its own. */
async function family(place: Place) {
  const session = await place.create({ mode: 'conversation' })
  const node = place.node()
  const root = await node.claim()
  const spawns = [1, 2].map((call) => place.child(root.worker, call, `c${call}`))
  await root.record({ inputsConsumed: 1, spawns, pendingCalls: [1, 2] })
  const first = await node.claim({ slot: '1' })
  await first.park('results:1', { spawns: [place.child(first.worker, 1, 'grandchild')], pendingCalls: [1] })
  const ids = [...spawns.map(({ id }) => id), place.child(first.worker, 1, 'grandchild').id]
  const end = (openChildren?: readonly string[]) => root.complete({ inputsConsumed: 0, pendingCount: 2, openChildren })
  return { session, node, root, ids, end }
}

/** All of these rest for good after one pass. */
async function expectEnded(place: Place, ids: readonly string[]): Promise<void> {
  await place.node().upkeep.finishCancelled()
  expect(await Promise.all(ids.map((id) => statusOf(place, id)))).toEqual(ids.map(() => 'terminal'))
  expect(await place.redis.smembers(place.keys.cancelling)).toEqual([])
}

export const aCancelOfASessionReachesAll: Check = async (place) => {
  const { session, root, ids } = await family(place)
  await place.sessions.cancel(session.id, 'enough')
  await root.record(cancelledEnd)
  await expectEnded(place, ids)
}

export const aCancelOfAWorkerReachesAllBelowIt: Check = async (place) => {
  const { ids } = await family(place)
  const [first = '', , grandchild = ''] = ids
  await place.sessions.cancelWorker(first, 'worker', 'enough')
  await expectEnded(place, [first, grandchild])
}

export const aCancelOfARunReachesItsWorker: Check = async (place) => {
  const { ids } = await family(place)
  const [, , grandchild = ''] = ids
  await place.sessions.cancelWorker(grandchild, 'run', 'enough')
  await place.node().upkeep.finishCancelled()
  expect(await statusOf(place, grandchild)).toBe('idle')
}

export const childrenWhoseCallWasInterruptedEnd: Check = async (place) => {
  const { root, ids } = await family(place)
  const [first = '', , grandchild = ''] = ids
  await root.record({ cancels: [first], pendingCalls: [2] })
  await expectEnded(place, [first, grandchild])
}

/**
 * The first child has reported, and a message has begun another run of it, which has spawned a child. The run of their parent ends and names the second
 * child, which has not reported.
 */
export const aChildThatHasReportedGoesOn: Check = async (place) => {
  await place.create({ mode: 'conversation' })
  const node = place.node({ slots: 8 })
  const root = await node.claim()
  const spawns = [1, 2].map((call) => place.child(root.worker, call, `c${call}`))
  await root.record({ inputsConsumed: 1, spawns, pendingCalls: [1, 2] })
  const first = await node.claim({ slot: '1' })
  const second = await node.claim({ slot: '2' })
  await first.complete({ result: resultOf(first) })
  await place.post(first.worker, 'again')
  const again = await node.claim({ slot: '1' })
  const below = place.child(first.worker, 1, 'below', { run: 2 })
  await again.record({ inputsConsumed: 1, spawns: [below], pendingCalls: [1] })
  const third = await node.claim({ slot: '3' })
  await root.complete({ inputsConsumed: 0, pendingCount: 1, openChildren: [second.worker] })
  expect(await third.commit()).toMatchObject({ kind: 'ok' })
  expect(await again.commit({ pendingCalls: [1] })).toMatchObject({ kind: 'ok' })
  expect(await second.commit()).toMatchObject({ kind: 'cancelled' })
}

export const childrenOfAnEndedRunAreLookedFor: Check = async (place) => {
  const { ids, end } = await family(place)
  await end()
  await expectEnded(place, ids)
}

/** The grandchild is named by nobody: its parent is ended by the same pass. */
export const namedChildrenOfAnEndedRunEnd: Check = async (place) => {
  const { session, ids, end } = await family(place)
  await end(ids.slice(0, 2))
  expect(await place.session(session.id)).not.toHaveProperty('endFrom')
  await expectEnded(place, ids)
}

export const aRunThatEndsTellsNodesOfItsChildren: Check = async (place) => {
  const { session, ids, end } = await family(place)
  const redis = new Redis(place.redisUrl)
  const told: string[] = []
  redis.on('message', (_, text: string) => told.push(text))
  await redis.subscribe(place.keys.cancelNotices)
  await end(ids.slice(0, 2))
  await place.redis.publish(place.keys.cancelNotices, 'later')
  await waitUntil('the notices came', () => told.includes('later'))
  redis.disconnect()
  expect(told).toEqual([session.id, 'later'])
}

export const aTurnThatRunsIsLookedAtAgain: Check = async (place) => {
  const { session, root, ids } = await family(place)
  await place.sessions.cancel(session.id, 'enough')
  await place.node().upkeep.finishCancelled()
  expect(await place.redis.smembers(place.keys.cancelling)).toEqual([session.id])
  await root.record(cancelledEnd)
  await expectEnded(place, ids)
}

export const ofSweepsAtTheSameMomentOneHasTheTurn: Check = async (place) => {
  const sweep = (id: string) => place.node({ id }).upkeep.sweep(1, [], false)
  await place.redis.hdel(place.keys.meta, 'sweptAt')
  expect((await sweep('node-a')).isHealer).toBe(true)
  await place.redis.hset(place.keys.meta, 'sweptAt', await place.now())
  expect((await sweep('node-b')).isHealer).toBe(false)
}

export const aCopyEndsWhatItsOriginalWasToEnd: Check = async (place) => {
  const { session, ids, end } = await family(place)
  await end(ids.slice(0, 2))
  const copy = await forked(place, session)
  await place.redis.srem(place.keys.cancelling, session.id)
  await place.node().upkeep.finishCancelled()
  const workers = await place.redis.lrange(place.sessionKeys(copy.id).workers, 0, -1)
  expect(await Promise.all(workers.map((id) => statusOf(place, id)))).toEqual(workers.map(() => 'terminal'))
}

export const resultsThatARunDroppedAreNotAwaited: Check = async (place) => {
  const { root } = await place.create()
  const node = place.node()
  const turn = await node.claim()
  const spawn = (call: number, run: number) => place.child(root, call, `c${call}`, { run })
  await turn.record({ inputsConsumed: 1, spawns: [spawn(1, 1)], pendingCalls: [1] })
  const dropped = await node.claim()
  await dropped.complete({ result: resultOf(dropped) })
  await turn.record({ outcome: 'completed', open: false, pendingCount: 1 })
  await place.post(root, 'for run 2')
  await turn.record({ inputsConsumed: 1, spawns: [spawn(1, 2), spawn(2, 2)], pendingCalls: [1, 2] })
  const children = [await node.claim(), await node.claim()] as const
  await children[0].complete({ result: resultOf(children[0]) })
  await turn.record({ pendingCalls: [1, 2], end: { wait: 'results:2', next: null } })
  expect(await statusOf(place, root)).toBe('parked')
  await children[1].complete({ result: resultOf(children[1]) })
  expect(await statusOf(place, root)).toBe('queued')
}
