/** Short checks of run queues, moved kinds, sessions that end late, and their pruning. Each expects a promise to be kept. */
import { expect } from 'vitest'
import { newId, rootIdOf, sessionIdOfRoot } from '../../../../src/core/ids.ts'
import { AuditStore } from '../../../../src/store/audit/audit-store.ts'
import { nodeSlotsKey } from '../../../../src/store/keys.ts'
import { completion } from '../hand-node.ts'
import type { Place } from '../place.ts'
import { retryOrder } from '../session/retry-checks.ts'
import { type Check, lost } from '../turn/checks.ts'

export const aClaimPassesWhatItCannotRun: Check = async (place) => {
  for (let number = 0; number < 40; number++) await place.create({ label: `x${number}`, kind: 'other' })
  await place.create({ label: 'fit' })
  expect((await place.node().claim()).assignment.name).toBe('fit')
}

/** As after two ends of a node that ran hundreds of workers. */
export const suspectsHideNoWork: Check = async (place) => {
  const { root } = await place.create()
  for (let start = 0; start < 2; start++) await lost(place, await place.node().claim({ maySuspect: false }))
  const record = await place.redis.hgetall(place.workerKeys(root).record)
  const pipeline = place.redis.pipeline()
  for (let number = 0; number < 600; number++) {
    const id = rootIdOf(newId(0))
    pipeline.hset(place.workerKeys(id).record, record).zadd(place.keys.run('default'), 0, id)
  }
  await pipeline.exec()
  await place.create({ label: 'fit' })
  const node = place.node()
  const asked: string[] = []
  for (let ask = 0; ask < 99 && !asked.includes('assigned'); ask++)
    asked.push((await node.ask({ maySuspect: false })).kind)
  expect(asked.at(-1)).toBe('assigned')
}

export const anAssignmentIsNoLargerThanItsTurn: Check = async (place) => {
  const { root } = await place.create({ mode: 'conversation' })
  for (let number = 0; number < 99; number++) await place.post(root, `${number}`)
  expect((await place.node().claim()).assignment.mail.inbox.length).toBeLessThan(99)
}

export const aSweepWakesPastWorkersItsNodeCannotRun: Check = async (place) => {
  await place.node({ id: 'node-b', kinds: { default: ['other'] } }).sweep({ free: 0 })
  for (let number = 0; number < 120; number++) await place.create({ label: `x${number}`, kind: 'other' })
  await place.create({ label: 'fit' })
  await place.redis.del(place.keys.wakeups('default'))
  expect((await place.node().sweep({ free: 1 })).wakeups).toHaveLength(1)
}

export const aMovedKindIsFound: Check = async (place) => {
  const { root } = await place.create({ kind: 'moved' })
  await place.node().sweep({ free: 0, leaving: true })
  await place.redis.hset(place.keys.kinds, 'moved', 'new {"description":""}')
  await place.node({ id: 'node-b', kinds: { new: ['moved'] } }).sweep({ free: 0 })
  expect((await place.record(root)).pool).toBe('new')
}

/** Its kind was registered by the node that has gone, of another release. */
export const aKindOfAnEmptyPoolIsTaken: Check = async (place) => {
  await place.redis.hset(place.keys.kinds, 'moved', 'new {"description":""}')
  const { root } = await place.create({ kind: 'moved', pool: 'new' })
  await place.node({ kinds: { new: ['moved'] } }).sweep({ free: 0, leaving: true })
  const { wakeups } = await place.node({ id: 'node-b', kinds: { old: ['moved'] } }).sweep({ free: 1 })
  expect(wakeups).toMatchObject([{ pool: 'old' }])
  expect((await place.record(root)).pool).toBe('old')
}

export const aSweepRemembersItsPools: Check = async (place) => {
  await place.node({ kinds: { old: ['x'] } }).sweep({ free: 0, soonAfter: true })
  expect(await place.redis.smembers(place.keys.pools)).toEqual(['old'])
}

/** No node was ever there. */
export const queueingAWorkerRegistersItsPool: Check = async (place) => {
  await place.create({ pool: 'gpu', kind: 'mover' })
  expect(await place.redis.smembers(place.keys.pools)).toEqual(['gpu'])
}

/** It dies at once afterwards, beside a node that has just swept. */
export const anAnnouncedNodeIsWholeAtOnce: Check = async (place) => {
  await place.node().sweep({ free: 0 })
  const dead = place.node({ id: 'node-b', kinds: { gpu: ['mover'] } })
  await dead.upkeep.announce(3, [{ kind: 'mover', pool: 'gpu', description: 'moves' }])
  expect(await place.redis.smembers(place.keys.pools)).toContain('gpu')
  expect(await place.redis.hget(place.keys.kinds, 'mover')).toBe('gpu {"description":"moves"}')
  expect(await place.redis.hget(place.keys.nodes, 'node-b')).toMatch(/^\d+ 3 gpu mover /)
}

export const aSweepNoticesThatItsNodeWasGone: Check = async (place) => {
  const node = place.node()
  await node.upkeep.announce(1, [{ kind: 'echo', pool: 'default', description: '' }])
  expect(await node.sweep()).toMatchObject({ wasGone: false })
  await place.redis.del(place.keys.nodes)
  expect(await node.sweep()).toMatchObject({ wasGone: true })
  expect(await node.sweep()).toMatchObject({ wasGone: false })
}

export const aNodeSaysItsSlotsAnew: Check = async (place) => {
  const node = place.node()
  await node.sweep({ slots: 3 })
  await node.sweep({ slots: 5 })
  expect(await place.redis.hget(nodeSlotsKey(place.keys.tag), node.id)).toMatch(/^5 default [0-9a-f]{40}$/)
  expect(await place.redis.get(place.keys.slots('default'))).toBe('5')
}

/** A node of an older troupe says only its line, and forgets others without their slots. */
export const nodesOfAnOlderTroupeCount: Check = async (place) => {
  const [older, node] = [place.node({ id: 'older', slots: 3, kinds: { default: ['elsewhere'] } }), place.node()]
  await older.sweep()
  await place.redis.hdel(nodeSlotsKey(place.keys.tag), 'older')
  await place.create({ kind: 'elsewhere' })
  await node.sweep({ free: 5 })
  expect(await place.redis.get(place.keys.slots('default'))).toBe('5')
  expect(await place.redis.zcard(place.keys.run('default'))).toBe(1)
}

export const theSlotsOfAForgottenNodeGo: Check = async (place) => {
  await place.node({ id: 'gone' }).sweep()
  await place.redis.hdel(place.keys.nodes, 'gone')
  await place.node().sweep()
  expect(await place.redis.hkeys(nodeSlotsKey(place.keys.tag))).toEqual(['node-a'])
  expect(await place.redis.get(place.keys.slots('default'))).toBe('2')
}

/** The lines of 500 nodes with a thousand kinds each have ten megabytes. The second line is as no node would write it. */
export const ofNodesWithTheSameKindsOneIsRead: Check = async (place) => {
  const others = ['one', 'two'].map((id) => place.node({ id, kinds: { default: ['elsewhere'] } }))
  for (const other of others) await other.sweep()
  const seen = await place.now()
  await place.redis.hset(place.keys.nodes, 'two', `${seen} 2 default read {}`)
  await place.create({ kind: 'read' })
  await place.node().sweep({ free: 5 })
  expect(await place.redis.zcard(place.keys.run('unhosted'))).toBe(1)
}

/** Another program wrote over the line of one of two nodes that live. */
export const aDamagedLineHidesNoKindsOfOthers: Check = async (place) => {
  for (const id of ['one', 'two']) await place.node({ id, kinds: { default: ['elsewhere'] } }).sweep()
  const [first] = await place.redis.hkeys(place.keys.nodes)
  await place.redis.hset(place.keys.nodes, String(first), 'damaged')
  await place.create({ kind: 'elsewhere' })
  await place.node().sweep({ free: 5 })
  expect(await place.redis.zcard(place.keys.run('unhosted'))).toBe(0)
}

/** Leaves the keys as another program could: the worker is there, and the register is not. */
export const anUnknownRunQueueIsSeen: Check = async (place) => {
  const { id, root } = await place.create({ pool: 'gpu', kind: 'mover' })
  await place.redis.del(place.keys.pools)
  const audit = new AuditStore(place.redis, place.caller, place.keys, 0, 20_000)
  const { workers } = await audit.look(id, [root], await audit.pools())
  expect(workers[0]?.queuedIn).toEqual(['gpu'])
}

export const aWorkerInTheRunQueueOfAnotherPoolIsSeen: Check = async (place) => {
  const { id, root } = await place.create()
  const pools = Array.from({ length: 150 }, (_, number) => `pool-${number}`)
  await place.redis.zadd(place.keys.run('pool-140'), 1, root)
  const audit = new AuditStore(place.redis, place.caller, place.keys, 0, 20_000)
  const { workers } = await audit.look(id, [root], pools)
  expect(workers[0]?.queuedIn.toSorted()).toEqual(['default', 'pool-140'])
}

export const aClosedConversationEndsWithItsTurn: Check = async (place) => {
  const { id } = await place.create({ mode: 'conversation' })
  const turn = await place.node().claim()
  await turn.record({ entries: ['{}'], inputsConsumed: 1, open: false, outcome: 'completed' })
  await place.sessions.close(id)
  await turn.record({ open: false, end: { wait: 'any', next: null } })
  expect((await place.session(id)).state).toBe('completed')
}

export const aCancelReachesWhatOutlivesItsSession: Check = async (place) => {
  const { id } = await place.create()
  const node = place.node()
  const root = await node.claim()
  await root.complete({ spawns: [place.child(root.worker, 1, 'free', { detached: true })] })
  const free = await node.claim()
  await place.sessions.cancel(id, 'late')
  expect(await free.commit({ entries: ['{}'] })).toEqual({ kind: 'cancelled' })
}

export const anEndedSessionIsCancelledOnce: Check = async (place) => {
  const { id } = await place.create()
  const node = place.node()
  const root = await node.claim()
  await root.complete({ spawns: [place.child(root.worker, 1, 'free', { detached: true })] })
  await place.sessions.cancel(id, 'late')
  expect(await place.changed(() => place.sessions.cancel(id, 'again'))).toEqual({})
}

export const whatEndedStaysAsItEnded: Check = async (place) => {
  const { id, root: rootId } = await place.create()
  const node = place.node()
  const root = await node.claim()
  await root.complete({ spawns: [place.child(root.worker, 1, 'free', { detached: true })] })
  await place.sessions.cancel(id, 'late')
  await node.upkeep.finishCancelled()
  expect((await place.record(rootId)).status).toBe('idle')
}

export const aCancelEndsAWorkerThatLostItsSession: Check = async (place) => {
  const { id, root } = await place.create()
  const node = place.node()
  const child = place.child(root, 1, 'child')
  await (await node.claim()).park('results:1', { spawns: [child], pendingCalls: [1] })
  await place.redis.hset(place.workerKeys(child.id).record, 'path1', `${rootIdOf(newId(0))}:1`)
  await place.sessions.cancel(id, 'enough')
  await node.upkeep.finishCancelled()
  expect((await place.record(child.id)).status).toBe('terminal')
}

// More workers than one call of pruning may touch.
const manyWorkers = 1_050

export const pruningLooksAtAllBeforeItTakesAny: Check = async (place) => {
  const { id, root } = await place.create({ limits: { workers: 2_000 } })
  const turn = await place.node().claim()
  const spawns = Array.from({ length: manyWorkers }, (_, index) =>
    place.child(root, index + 1, `free ${index}`, { detached: true }),
  )
  await turn.complete({ spawns })
  await restBut(place, spawns.at(-1)?.id)
  expect(await place.sessions.prune(0)).toBe(0)
  expect(await place.redis.llen(place.sessionKeys(id).workers)).toBe(manyWorkers)
}

export const pruningLooksAtTheRootFirst: Check = async (place) => {
  const { id, root } = await place.create({ limits: { workers: 2_000 } })
  const turn = await place.node().claim()
  const spawns = Array.from({ length: manyWorkers }, (_, index) =>
    place.child(root, index + 1, `free ${index}`, { detached: true }),
  )
  await turn.record({ ...completion, inputsConsumed: 1, spawns, end: undefined })
  await restBut(place)
  expect(await place.sessions.prune(0)).toBe(0)
  expect(await place.redis.llen(place.sessionKeys(id).workers)).toBe(manyWorkers)
}

export const oneNodeMakesAPassOfPruning: Check = async (place) => {
  const { keys, redis } = place
  await place.node().upkeep.prune()
  const left = newId(0)
  await redis.zadd(keys.ends, 5, left)
  await place.node({ id: 'node-b' }).upkeep.prune()
  expect(await redis.zscore(keys.ends, left)).toBe('5')
}

export const aPassOfPruningOutlivesItsNode: Check = async (place) => {
  const { keys, redis } = place
  await redis.hset(keys.meta, 'pruning', '9 0 node-a', 'prunedAt', '1')
  const left = newId(0)
  await redis.zadd(keys.ends, 5, left)
  await place.node({ id: 'node-b' }).upkeep.prune()
  expect(await redis.zscore(keys.ends, left)).toBe('5')
}

/** Every queued worker but one has run, in a moment. */
async function restBut(place: Place, one?: string): Promise<void> {
  const line = await place.redis.zrange(place.keys.run('default'), 0, '-1')
  const resting = place.redis.pipeline()
  for (const id of line.filter((worker) => worker !== one))
    resting.hset(place.workerKeys(id).record, 'status', 'idle').zrem(place.keys.run('default'), id)
  await resting.exec()
}

/** The run that ends is not the root's: the script marks it where all of the session look. */
export const grandchildrenOfAnEndedRunAreCancelled: Check = async (place) => {
  const { root } = await place.create()
  const node = place.node({ slots: 3 })
  const turn = await node.claim()
  await turn.record({ inputsConsumed: 1, spawns: [place.child(root, 1, 'child')], pendingCalls: [1] })
  const child = await node.claim({ slot: '1' })
  await child.record({ inputsConsumed: 1, spawns: [place.child(child.worker, 1, 'grandchild')], pendingCalls: [1] })
  await child.complete({ inputsConsumed: 0, pendingCount: 1 })
  expect((await node.claim({ slot: '2' })).assignment.purpose).toBe('cancelled')
}

/** Any id can be written as that of a session. */
export const theRecordOfAChildIsNoSession: Check = async (place) => {
  const { root } = await place.create()
  await (await place.node().claim()).record({
    inputsConsumed: 1,
    spawns: [place.child(root, 1, 'child')],
    pendingCalls: [1],
  })
  const id = sessionIdOfRoot(place.child(root, 1, 'child').id)
  const changed = await place.changed(async () => {
    expect(await place.sessions.cancel(id, '"no"')).toEqual({ kind: 'not_found' })
    expect(await place.sessions.close(id)).toEqual({ kind: 'not_found' })
    expect(await place.sessions.limit(id, { modelCalls: 1 }, '[]')).toEqual({ kind: 'not_found' })
    expect(await place.sessions.retry(id, retryOrder())).toEqual({ kind: 'not_found' })
  })
  expect(changed).toEqual({})
}

/** The clock was set back by an hour. */
export const scoresFarAheadComeNear: Check = async (place) => {
  const { root } = await place.create()
  const node = place.node()
  const { worker } = await node.claim()
  const hour = (await place.now()) + 3_600_000
  const { leases, wakeups, busy } = place.keys
  const sets = [leases, wakeups('default'), busy('default')]
  for (const key of sets) await place.redis.zadd(key, hour, key === leases ? worker : root)
  await place.redis.hdel(place.keys.meta, 'sweptAt')
  await node.sweep({ free: 0 })
  const far = await Promise.all(sets.map((key) => place.redis.zcount(key, hour - 600_000, '+inf')))
  expect(far).toEqual(sets.map(() => 0))
}

const hourMs = 3_600_000

/** An hour before the clock stood an hour ahead; one timer was set then, two since. All are due in a minute or more. */
export const timersMoveWithTheClock: Check = async (place) => {
  const { root } = await place.create()
  const now = await place.now()
  const { timers, meta } = place.keys
  const scores = { before: now + hourMs + 60_000, since: now + 60_000, late: now + hourMs - 60_000 }
  for (const [name, score] of Object.entries(scores)) await place.redis.zadd(timers, score, `${root}:${name}`)
  await place.redis.hset(meta, 'sweptAt', now + hourMs)
  const swept = await place.node().sweep({ free: 0, soonAfter: true })
  expect(swept.setBack).toMatchObject({ timers: 1 })
  expect(Math.abs((swept.setBack?.ms ?? 0) - hourMs)).toBeLessThan(10_000)
  const inMs = async (name: string) => Number(await place.redis.zscore(timers, `${root}:${name}`)) - now
  expect(Math.abs((await inMs('before')) - 60_000)).toBeLessThan(10_000)
  expect([await inMs('since'), await inMs('late')]).toEqual([60_000, hourMs - 60_000])
  // The time is counted from now: the next sweep moves nothing.
  expect((await place.node().sweep({ free: 0, soonAfter: true })).setBack).toBeNull()
}
