/** Like checks.ts, of what one script does at most, however much there is to do. */
import { expect } from 'vitest'
import { newId } from '../../../../src/core/ids.ts'
import { AuditStore } from '../../../../src/store/audit/audit-store.ts'
import { gateKeys, gatesKey, rootKey, sessionKeys } from '../../../../src/store/keys.ts'
import type { Reply } from '../../../../src/store/script/script.ts'
import { deliveredScript, finishScript, lookScript, resumeScript } from '../../../../src/store/script/scripts.ts'
import { newSeed } from '../../../../src/store/wakeups.ts'
import { endOf, siblings, together } from '../calls/batch-calls.ts'
import { sender } from '../mail/send-checks.ts'
import { pauseNote, resumedEvent } from '../person/pause-checks.ts'
import type { Place } from '../place.ts'
import type { Check } from '../turn/checks.ts'
import { numbers, outboxOf, sendOut } from './outbox-checks.ts'

/** Calls the script of a finish once. */
function finishOnce(place: Place, sessionId: string) {
  const { tag, cancelling, timers, events } = place.keys
  const { cancelled, workers } = sessionKeys(tag, sessionId)
  const root = rootKey(tag, sessionId)
  return place.caller.call(
    finishScript,
    { root, cancelled, cancelling, workers, timers, events },
    { sessionId, batch: 25, agents: [], seed: newSeed(), wakeupMs: 1_000, entry: '{}', texts: [] },
    { deadlineMs: 2_000 },
  )
}

/** A root whose four children wait for as many timers each. */
async function waiting(place: Place, timers: number) {
  const session = await place.create({ limits: { children: 10 } })
  const node = place.node()
  const turn = await node.claim()
  const children = [1, 2, 3, 4].map((call) => place.child(turn.worker, call, `c${call}`))
  await turn.park('results:4', { inputsConsumed: 1, spawns: children, pendingCalls: [1, 2, 3, 4] })
  for (const { id } of children) {
    const child = await node.claim()
    expect(child.worker).toBe(id)
    const own = Array.from({ length: timers }, (_, index) => ({ id: `t${index}`, ms: 60_000, valueJson: '1' }))
    await child.park('signals', { inputsConsumed: 1, timers: own, signalsOpen: timers })
  }
  return { session, node, children: children.map(({ id }) => id) }
}

const statesOf = (place: Place, ids: readonly string[]) =>
  Promise.all(ids.map(async (id) => (await place.record(id)).status))

export const aFinishDropsNoMoreThanAScriptMay: Check = async (place) => {
  const { session, node, children } = await waiting(place, 300)
  await place.sessions.cancel(session.id, 'enough')
  expect(await finishOnce(place, session.id)).toEqual(['more', [], ''])
  expect(await statesOf(place, children)).toEqual(['terminal', 'parked', 'parked', 'parked'])
  expect(await node.upkeep.finishCancelled()).toMatchObject({ finished: 1, damaged: [] })
  expect(await statesOf(place, children)).toEqual(['terminal', 'terminal', 'terminal', 'terminal'])
  expect(await place.redis.zcard(place.keys.timers)).toBe(0)
}

/** Each of them may wait for thousands of timers. */
export const runsThatDropManyTimersEndOneByOne: Check = async (place) => {
  const { node, children } = await siblings(place)
  for (const { worker } of children) await place.redis.hset(place.workerKeys(worker).record, 'signalsOpen', '51')
  const before = place.wire.sent
  await together(
    node,
    children.map((child) => endOf(child)),
  )
  expect(
    await statesOf(
      place,
      children.map(({ worker }) => worker),
    ),
  ).toEqual(['idle', 'idle', 'idle'])
  expect(place.wire.sent).toBe(before + children.length)
}

export const claimsOfOneScriptReadNoMoreThanItMay: Check = async (place) => {
  const { node, children } = await siblings(place)
  await place.createMany(['x', 'y', 'z'].map((label) => ({ label, input: 'x'.repeat(700_000) })))
  const requests = children.map((child, index) => {
    const end = { wait: 'any', next: node.next({ slot: String(index + 1) }) }
    return endOf(child, { end })
  })
  const answers = await together(node, requests)
  const claimed = answers.map((answer) => answer.kind === 'ok' && answer.claimed.kind)
  expect(claimed).toEqual(['assigned', 'assigned', 'later'])
}

const pool = 'default'
const ids = (count: number) => Array.from({ length: count }, () => newId(0))

export const aClaimLooksAtNoMoreWorkersThanItMay: Check = async (place) => {
  const [queue, ofKind] = [place.keys.run(pool), place.keys.kindQueue(pool, 'echo')]
  await place.redis.zadd(queue, ...ids(512).flatMap((id) => [1, id]))
  await place.redis.zadd(ofKind, ...ids(3).flatMap((id) => [2, id]))
  await place.redis.sadd(place.keys.kindQueues(pool), 'echo')
  expect(await place.node().ask()).toEqual({ kind: 'unfit' })
  expect([await place.redis.zcard(queue), await place.redis.zcard(ofKind)]).toEqual([0, 3])
}

export const aClaimLooksAtNoMoreQueuesThanItMay: Check = async (place) => {
  const kinds = Array.from({ length: 200 }, (_, index) => `kind-${index}`)
  const pipeline = place.redis.pipeline()
  for (const kind of kinds) pipeline.zadd(place.keys.kindQueue(pool, kind), 1, newId(0))
  await pipeline.sadd(place.keys.kindQueues(pool), ...kinds).exec()
  const node = place.node({ kinds: { [pool]: kinds } })
  expect(await node.ask()).toEqual({ kind: 'empty' })
  expect(await place.redis.scard(place.keys.kindQueues(pool))).toBe(200 - 128)
}

/** Two processes may have read the same mails. */
export const aMailOfAnOutboxIsRemovedOnce: Check = async (place) => {
  const { turn } = await sender(place)
  await sendOut(turn, 3)
  const [first = 0, second = 0, third = 0] = await numbers(place)
  const args = { numbers: [first], last: first, refused: [], notes: [] }
  const keys = { out: outboxOf(place), events: place.keys.events }
  for (let time = 0; time < 2; time++) await place.caller.call(deliveredScript, keys, args, { deadlineMs: 2_000 })
  expect(await numbers(place)).toEqual([second, third])
}

export const aLimitLooksAtAllWorkers: Check = async (place) => {
  const { id } = await place.create({ mode: 'conversation' })
  const turn = await place.node().claim()
  await turn.complete({ spawns: [place.child(turn.worker, 1, 'free', { detached: true })] })
  await place.sessions.close(id)
  await place.redis.lpush(place.sessionKeys(id).workers, ...ids(500))
  expect(await place.sessions.limit(id, { modelCalls: 900 }, '[]')).toMatchObject({ kind: 'ok' })
}

/** Each worker with too many of them is looked at alone. */
export const anAuditReadsFewTimersAtOnce: Check = async (place) => {
  const { session, children } = await waiting(place, 300)
  const audit = new AuditStore(place.redis, place.caller, place.keys, 0, 20_000)
  const before = place.wire.sent
  const { workers } = await audit.look(session.id, [session.root, ...children], [pool])
  expect(workers.map(({ timers }) => timers.length)).toEqual([0, 300, 300, 300, 300])
  expect(workers.every(({ hasSignals }) => hasSignals)).toBe(true)
  expect(place.wire.sent).toBe(before + 4)
}

export const anAuditReadsFewBytesOfMails: Check = async (place) => {
  const { root } = await place.create({ mode: 'conversation' })
  for (let mail = 0; mail < 8; mail++) await place.post(root, `${mail}${'x'.repeat(100_000)}`)
  const { leases, timers, sessions, cancelling, ends } = place.keys
  const [, [worker]] = (await place.caller.call(
    lookScript,
    { leases, timers, sessions, cancelling, ends },
    { session: undefined, workers: [root], pools: [], headBytes: 1, budget: 150_000 },
    { deadlineMs: 2_000 },
  )) as [unknown, [unknown[]]]
  expect(worker[6]).toEqual([9, ['i', 'i', 'i'], 0])
}

/** Runs of other partitions wait at six gates that open at once. */
export const aFireLetsNoMoreRunsBeginThanItMay: Check = async (place) => {
  const pipeline = place.redis.pipeline()
  for (const gate of ['a', 'b', 'c', 'd', 'e', 'f']) {
    const { gate: record, waiting } = gateKeys(place.keys.tag, `echo:runs:${gate}`)
    pipeline.hset(record, 'most', 100).zadd(gatesKey(place.keys.tag), 1, `echo:runs:${gate}`)
    for (const id of ids(32)) pipeline.zadd(waiting, 1, `echo ${id}:0 ${gate} -`)
  }
  await pipeline.exec()
  const { upkeep } = place.node()
  expect(await upkeep.fire()).toMatchObject({ fired: 128, dueInMs: 0 })
  expect(await upkeep.fire()).toMatchObject({ fired: 64 })
}

/** A paused session of which claims have kept 401 workers, its root as the last one; its resume has made one call, and then its process died. */
async function halfResumed(place: Place) {
  const session = await place.create()
  await place.sessions.pauses.pause(session.id, pauseNote)
  const { held, quiet } = place.sessionKeys(session.id)
  const node = place.node()
  await node.ask()
  await place.redis.zadd(held, ...ids(400).flatMap((id, index) => [index - 1_000, id]))
  const { events, idem } = place.keys
  const keys = { root: place.workerKeys(session.root).record, held, quiet, events, idem: idem('half') }
  const args = { sessionId: session.id, seed: newSeed(), wakeupMs: 1_000, event: resumedEvent, idemMs: 60_000 }
  const answer = await place.caller.call(resumeScript, keys, args, { deadlineMs: 2_000 })
  const left = () => place.redis.zcard(held)
  return { session, answer, left, node }
}

export const aResumeBringsBackSomeAtATime: Check = async (place) => {
  const { session, answer, left } = await halfResumed(place)
  expect(answer).toEqual(['more', '', '400'])
  expect(await left()).toBe(1)
  expect(await place.sessions.pauses.resume(session.id, resumedEvent)).toMatchObject({ kind: 'ok' })
  expect([await left(), await place.redis.zcard(place.keys.timers)]).toEqual([0, 0])
}

export const aLaterPauseStands: Check = async (place) => {
  const { session, left } = await halfResumed(place)
  await place.redis.zadd(place.sessionKeys(session.id).held, ...ids(401).flatMap((id, index) => [index, id]))
  place.wire.afterNext(async () => void (await place.sessions.pauses.pause(session.id, pauseNote)))
  await place.sessions.pauses.resume(session.id, resumedEvent)
  expect(await place.redis.hexists(place.workerKeys(session.root).record, 'paused')).toBe(1)
  expect(await left()).toBe(2)
}

export const whoAResumeHasLeftIsNoFinding: Check = async (place) => {
  const { session } = await halfResumed(place)
  const audit = new AuditStore(place.redis, place.caller, place.keys, 0, 20_000)
  const { workers } = await audit.look(session.id, [session.root], [pool])
  expect(workers[0]?.queuedIn).toEqual([pool])
}

export const nodesGoOnWithAResume: Check = async (place) => {
  const { node, left } = await halfResumed(place)
  await node.upkeep.fire()
  expect([await left(), await place.redis.zcard(place.keys.timers)]).toEqual([0, 0])
}

export const aSessionThatIsPausedAgainKeepsItsWorkers: Check = async (place) => {
  const { session, node, left } = await halfResumed(place)
  await place.sessions.pauses.pause(session.id, pauseNote)
  await node.upkeep.fire()
  expect([await left(), await place.redis.zcard(place.keys.timers)]).toEqual([1, 0])
}

export const anAssignmentHoldsFewBytes: Check = async (place) => {
  const node = place.node()
  for (const [label, bytes, fit] of [
    ['two', 700_000, 1],
    ['four', 400_000, 2],
  ] as const) {
    const { root } = await place.create({ label, mode: 'conversation', input: 'x'.repeat(bytes) })
    for (let mail = 0; mail < 3; mail++) await place.post(root, `${label} ${mail} ${'x'.repeat(bytes)}`)
    const turn = await node.claim()
    expect([turn.worker, turn.assignment.mail.inbox.length]).toEqual([root, fit])
  }
}

/** Workers of six kinds whose pool has no node any more; another pool hosts the kinds since. */
export const aSweepMovesNoMoreWorkersThanItMay: Check = async (place) => {
  Object.assign(place.policy, { sweepBatch: 10 })
  const { keys, redis } = place
  const kinds = ['a', 'b', 'c', 'd', 'e', 'f']
  for (const kind of kinds) {
    for (const id of ids(10)) {
      await redis.hset(place.workerKeys(id).record, 'kind', kind, 'status', 'queued', 'pool', 'old')
      await redis.zadd(keys.kindQueue('old', kind), 1, id)
    }
    await redis.hset(keys.kinds, kind, 'new {"description":""}')
  }
  await redis.sadd(keys.pools, 'old')
  await redis.sadd(keys.kindQueues('old'), ...kinds)
  const moved: number[] = []
  for (let call = 0; call < 6; call++) {
    await place.node({ kinds: { new: kinds } }).sweep({ free: 0 })
    moved.push(await redis.zcard(keys.run('new')))
  }
  expect(moved[0]).toBeGreaterThan(0)
  expect(moved[0]).toBeLessThanOrEqual(20)
  expect(moved.at(-1)).toBe(60)
}

export const aSweepLooksAtNoMorePoolsThanItMay: Check = async (place) => {
  const { keys, redis } = place
  await redis.sadd(keys.pools, ...Array.from({ length: 300 }, (_, index) => `pool-${index}`))
  await place.node().sweep({ free: 0 })
  const counted = await redis.keys(keys.slots('pool-*').replace(/[{}]/g, '?'))
  expect(counted.length).toBeGreaterThan(90)
  expect(counted.length).toBeLessThanOrEqual(100)
  expect(await redis.get(keys.slots(pool))).not.toBeNull()
}

/** A list of this session is long, and names two of three workers that have no record. */
export const anAuditLooksForFewInALongList: Check = async (place) => {
  const { id, root } = await place.create()
  const many = ids(20_001)
  const [first, second] = many as [string, string]
  for (let from = 0; from < many.length; from += 5_000)
    await place.redis.rpush(place.sessionKeys(id).workers, ...many.slice(from, from + 5_000))
  const { leases, timers, sessions, cancelling, ends } = place.keys
  const unlisted = newId(0)
  const asked = { session: id, workers: [root, first, second, unlisted], pools: [], headBytes: 0, budget: 0 }
  const keys = { leases, timers, sessions, cancelling, ends }
  const [, found] = await place.caller.call(lookScript, keys, asked, { deadlineMs: 2_000 })
  expect((found as Reply[]).slice(1)).toEqual([
    [first, 1],
    [second, null],
    [unlisted, null],
  ])
  const audit = new AuditStore(place.redis, place.caller, place.keys, 0, 20_000)
  expect((await audit.look(id, [root, first, second, unlisted], [])).missing).toEqual([
    { id: first, isListed: true },
    { id: second, isListed: true },
    { id: unlisted, isListed: false },
  ])
}
