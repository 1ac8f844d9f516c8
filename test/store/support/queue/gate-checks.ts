/** Like checks.ts, of runs that may not begin before a gate of their kind opens. */
import { expect } from 'vitest'
import { type EnterAnswer, type GateOrder, gateIdOf } from '../../../../src/core/worker/gates.ts'
import { gateKeys, gatesKey } from '../../../../src/store/keys.ts'
import type { HandTurn } from '../hand-node.ts'
import type { Place } from '../place.ts'
import { resultsOf } from '../turn/cancel-checks.ts'
import { type Check, resultOf } from '../turn/checks.ts'

/** A gate that lets so many runs be in progress at once; a key makes a gate of its own. */
export const atOnce = (most: number, key: string | null = null): GateOrder => ({
  sort: 'runs',
  id: gateIdOf(key),
  key,
  most,
})
/** A gate that lets so many runs begin within an hour: no test waits for the end of it, each puts the beginnings back. */
export const within = (most: number, key: string | null = null): GateOrder => ({
  ...atOnce(most, key),
  sort: 'rate',
  perMs: 3_600_000,
})

const gateOf = (place: Place, { sort, id }: GateOrder) => gateKeys(place.keys.tag, `echo:${sort}:${id}`)
export const holders = (place: Place, gate: GateOrder) => place.redis.zrange(gateOf(place, gate).in, 0, '-1')
export const waiters = (place: Place, gate: GateOrder) => place.redis.zrange(gateOf(place, gate).waiting, 0, '-1')
const statusOf = (place: Place, worker: string) => place.redis.hget(place.workerKeys(worker).record, 'status')
const gatesOf = (place: Place, worker: string) => place.redis.hget(place.workerKeys(worker).record, 'gates')

/** A session for each of these labels, claimed by slots of one node; none has asked yet. */
async function claimed(place: Place, labels: readonly string[], node = place.node({ slots: 8 })): Promise<HandTurn[]> {
  const turns: HandTurn[] = []
  for (const [index, label] of labels.entries()) {
    await place.create({ label })
    turns.push(await node.claim({ slot: String(index) }))
  }
  return turns
}

export function enter(turn: HandTurn, ...gates: readonly GateOrder[]): Promise<EnterAnswer> {
  return turn.node.turns.enter(turn.assignment, gates)
}

/** The next sweep looks at all gates. */
export async function open(place: Place) {
  for (const gate of await place.redis.zrange(gatesKey(place.keys.tag), 0, '-1'))
    await place.redis.zadd(gatesKey(place.keys.tag), 1, gate)
  return place.node({ id: 'sweeper' }).upkeep.fire()
}

/** Turns of these sessions, of which the first ones that the gate allows have begun. */
async function crowd(place: Place, most: number, labels: readonly string[]) {
  const gate = atOnce(most)
  const turns = await claimed(place, labels)
  const answers: string[] = []
  for (const turn of turns) answers.push((await enter(turn, gate)).kind)
  return { gate, turns, answers, ids: turns.map(({ worker }) => worker) }
}

export const noMoreRunsAreInProgress: Check = async (place) => {
  const { gate, ids, answers } = await crowd(place, 2, ['a', 'b', 'c'])
  expect(answers).toEqual(['in', 'in', 'waits'])
  expect((await holders(place, gate)).toSorted()).toEqual(ids.slice(0, 2).toSorted())
  expect(await waiters(place, gate)).toEqual(ids.slice(2))
  expect(await place.record(ids[2] ?? '')).toMatchObject({ status: 'parked', wait: 'gate' })
  expect(await place.record(ids[2] ?? '')).not.toHaveProperty('token')
}

export const whoWaitsHoldsNoLease: Check = async (place) => {
  const { ids } = await crowd(place, 1, ['a', 'b'])
  expect(await place.redis.zrange(place.keys.leases, 0, '-1')).toEqual(ids.slice(0, 1))
}

export const whoWaitsKeepsItsEpoch: Check = async (place) => {
  const { turns, ids } = await crowd(place, 1, ['a', 'b'])
  await turns[0]?.complete()
  await open(place)
  const again = await place.node().claim()
  expect(again.worker).toBe(ids[1])
  expect(again.assignment).toMatchObject({ starts: 1, epoch: 2, gates: { state: 'in' } })
}

export const aRunThatEndsFreesItsPlace: Check = async (place) => {
  const { gate, turns, ids } = await crowd(place, 1, ['a', 'b', 'c'])
  expect(await turns[0]?.complete()).toMatchObject({ opensGate: true })
  expect(await holders(place, gate)).toEqual([])
  // The time at which the gate is looked at is now, and no test has changed it.
  await place.node({ id: 'sweeper' }).upkeep.fire()
  expect(await holders(place, gate)).toEqual([ids[1]])
  expect(await waiters(place, gate)).toEqual([ids[2]])
  expect(await statusOf(place, ids[1] ?? '')).toBe('queued')
  expect(await statusOf(place, ids[2] ?? '')).toBe('parked')
}

export const aRunThatWasCancelledFreesItsPlace: Check = async (place) => {
  const { gate, turns, ids } = await crowd(place, 1, ['a', 'b'])
  const [first] = turns
  await first?.park('signals', { signalsOpen: 1, timers: [{ id: 't1', ms: 600_000, valueJson: '1' }] })
  expect(await holders(place, gate)).toEqual([ids[0]])
  await place.sessions.cancel(first?.assignment.sessionId ?? '', 'enough')
  await place.node().upkeep.finishCancelled()
  await open(place)
  expect(await holders(place, gate)).toEqual([ids[1]])
}

/** A worker whose kind has `onCancel` waits at a gate behind another one, and is cancelled; the purpose of the next claim, if there is one. */
async function cancelledAtAGate(place: Place, begin?: (turn: HandTurn) => Promise<unknown>) {
  const node = place.node({ slots: 8, withOnCancel: ['echo'] })
  const [first] = await claimed(place, ['a'], node)
  await enter(first as HandTurn, atOnce(1))
  const { id } = await place.create()
  let turn = await node.claim({ slot: '1' })
  if (begin) {
    await begin(turn)
    await node.upkeep.fire()
    turn = await node.claim({ slot: '1' })
  }
  expect(await enter(turn, atOnce(1))).toMatchObject({ kind: 'waits' })
  await place.sessions.cancel(id, 'enough')
  await node.upkeep.finishCancelled()
  const answer = await node.ask({ slot: '2' })
  return answer.kind === 'assigned' ? answer.assignment.purpose : answer.kind
}

export const aRunThatWaitsBeforeItBeginsGetsNoLastStep: Check = async (place) => {
  expect(await cancelledAtAGate(place)).toBe('empty')
}

export const aRunThatBeganAndWaitsGetsALastStep: Check = async (place) => {
  const timers = [{ id: 't1', ms: 0, valueJson: '1' }]
  expect(await cancelledAtAGate(place, (turn) => turn.park('signals', { signalsOpen: 1, timers }))).toBe('cancelled')
}

export const aRunOfAPausedSessionTakesNoPlace: Check = async (place) => {
  const { gate, turns, ids } = await crowd(place, 1, ['a', 'b', 'c'])
  const paused = turns[1]?.assignment.sessionId ?? ''
  await place.sessions.pauses.pause(paused, { at: 1 })
  await turns[0]?.complete()
  await open(place)
  expect(await holders(place, gate)).toEqual(ids.slice(2))
  expect(await waiters(place, gate)).toEqual([])
  expect((await place.node().claim()).worker).toBe(ids[2])
  await place.sessions.pauses.resume(paused, '[["session.resumed",{}]]')
  const again = await place.node().claim()
  expect([again.worker, (await enter(again, gate)).kind]).toEqual([ids[1], 'waits'])
}

export const aRunOfAKeyHoldsUpNoOther: Check = async (place) => {
  const [a, b, c] = (await claimed(place, ['a', 'b', 'c'])) as [HandTurn, HandTurn, HandTurn]
  expect(await enter(a, atOnce(1, 'acme'))).toEqual({ kind: 'in' })
  expect(await enter(b, atOnce(1, 'acme'))).toEqual({ kind: 'waits', opensInMs: null })
  expect(await enter(c, atOnce(1, 'other'))).toEqual({ kind: 'in' })
}

export const noMoreRunsBeginWithinATime: Check = async (place) => {
  const [a, b, c] = (await claimed(place, ['a', 'b', 'c'])) as [HandTurn, HandTurn, HandTurn]
  const gate = within(1)
  expect(await enter(a, gate)).toEqual({ kind: 'in' })
  // The end of this run changes nothing.
  await a.complete()
  expect(await enter(b, gate)).toMatchObject({ kind: 'waits', opensInMs: expect.any(Number) })
  expect(await enter(c, gate)).toMatchObject({ kind: 'waits' })
  await open(place)
  expect(await waiters(place, gate)).toEqual([b.worker, c.worker])
  const { begun } = gateOf(place, gate)
  await place.redis.lset(begun, 0, (await place.now()) - 3_600_001)
  await open(place)
  expect(await waiters(place, gate)).toEqual([c.worker])
  expect(await statusOf(place, b.worker)).toBe('queued')
}

export const aGateThatHasGoneStillLimits: Check = async (place) => {
  const [a, b, c, d] = (await claimed(place, ['a', 'b', 'c', 'd'])) as [HandTurn, HandTurn, HandTurn, HandTurn]
  const [runs, rate] = [atOnce(1), within(2)]
  await enter(a, runs, rate)
  await a.complete()
  await enter(b, runs, rate)
  for (const turn of [c, d]) expect(await enter(turn, runs, rate)).toMatchObject({ kind: 'waits' })
  await b.complete()
  await open(place)
  // All wait at the rate now, and nobody is at the other gate.
  expect(await waiters(place, rate)).toEqual([c.worker, d.worker])
  expect(await place.redis.exists(gateOf(place, runs).gate)).toBe(0)
  const { begun } = gateOf(place, rate)
  for (const at of [0, 1]) await place.redis.lset(begun, at, '1')
  await open(place)
  expect(await holders(place, runs)).toEqual([c.worker])
  expect(await waiters(place, runs)).toEqual([d.worker])
}

/** Leaves a gate as if the clock had been set back by an hour since a run began within a minute: the gate opens a minute from now, or two. */
export const aGateOpensAfterTheClockWasSetBack: Check = async (place) => {
  const [a, b] = (await claimed(place, ['a', 'b'])) as [HandTurn, HandTurn]
  const [gate, hourMs, minuteMs] = [{ ...within(1), perMs: 60_000 }, 3_600_000, 60_000]
  const [all, { begun }] = [gatesKey(place.keys.tag), gateOf(place, gate)]
  await enter(a, gate)
  expect(await enter(b, gate)).toMatchObject({ kind: 'waits' })
  const now = await place.now()
  await place.redis.lset(begun, 0, now + hourMs)
  for (const name of await place.redis.zrange(all, 0, '-1')) await place.redis.zadd(all, now + hourMs + minuteMs, name)
  await place.redis.hset(place.keys.meta, 'sweptAt', now + hourMs)
  const { upkeep } = place.node({ id: 'sweeper' })
  await upkeep.sweep(1, [], false)
  expect((await upkeep.fire()).dueInMs).toBeLessThanOrEqual(minuteMs)
  await open(place)
  expect(Number(await place.redis.lindex(begun, 0))).toBeLessThan(now + minuteMs)
}

/** Leaves a gate as if the clock had been set back by an hour since a run came there. */
export const nobodyOvertakesAfterTheClockWasSetBack: Check = async (place) => {
  const [a, b, c, d] = (await claimed(place, ['a', 'b', 'c', 'd'])) as [HandTurn, HandTurn, HandTurn, HandTurn]
  const gate = atOnce(1)
  await enter(a, gate)
  await enter(b, gate)
  await place.redis.zadd(gateOf(place, gate).waiting, (await place.now()) + 3_600_000, b.worker)
  for (const turn of [c, d]) expect(await enter(turn, gate)).toMatchObject({ kind: 'waits' })
  expect(await waiters(place, gate)).toEqual([b.worker, c.worker, d.worker])
}

export const aStaleNodeCannotEnter: Check = async (place) => {
  const [turn] = (await claimed(place, ['a'])) as [HandTurn]
  await place.expireLease(turn.worker)
  await turn.node.sweep({ free: 0 })
  const next = await place.node({ id: 'node-b' }).claim()
  expect(await enter(turn, atOnce(1))).toEqual({ kind: 'fenced' })
  expect(await holders(place, atOnce(1))).toEqual([])
  expect(await enter(next, atOnce(1))).toEqual({ kind: 'in' })
}

export const aRunBeginsOnce: Check = async (place) => {
  const [turn] = (await claimed(place, ['a'])) as [HandTurn]
  const gate = within(2)
  await enter(turn, gate)
  expect(await enter(turn, gate)).toEqual({ kind: 'in' })
  expect(await place.redis.llen(gateOf(place, gate).begun)).toBe(1)
}

/** An `enter` arrives once more, late: the turn has ended the run with a step, and goes on. */
export const aRunThatHasEndedDoesNotBeginAgain: Check = async (place) => {
  const [turn] = (await claimed(place, ['a'])) as [HandTurn]
  const gate = atOnce(1)
  await enter(turn, gate)
  await turn.complete({ end: undefined })
  expect(await enter(turn, gate)).toEqual({ kind: 'in' })
  expect(await holders(place, gate)).toEqual([])
}

export const startsOfARunThatWaitsCountAnew: Check = async (place) => {
  await crowd(place, 1, ['a'])
  const [late] = (await claimed(place, ['b'])) as [HandTurn]
  await place.redis.hset(place.workerKeys(late.worker).record, 'isolated', '2')
  expect(await enter(late, atOnce(1))).toMatchObject({ kind: 'waits' })
  expect(await place.record(late.worker)).not.toMatchObject({ isolated: '2' })
}

export const aCancelledRunDoesNotBegin: Check = async (place) => {
  const [turn] = (await claimed(place, ['a'])) as [HandTurn]
  await place.sessions.cancel(turn.assignment.sessionId, 'enough')
  expect(await enter(turn, atOnce(1))).toEqual({ kind: 'cancelled' })
  expect(await holders(place, atOnce(1))).toEqual([])
}

export const aRunThatItsAncestorsHoldUpIsTold: Check = async (place) => {
  const { root } = await place.create()
  const node = place.node({ slots: 8 })
  const parent = await node.claim()
  await enter(parent, atOnce(1))
  await parent.park('results:1', { spawns: [place.child(root, 1, 'child')], pendingCalls: [1] })
  const child = await node.claim({ slot: '1' })
  expect(await enter(child, atOnce(1))).toEqual({ kind: 'never' })
  expect(await enter(child, atOnce(2))).toEqual({ kind: 'in' })
}

/** The child has reported, and messages begin other runs of it: its parent waits neither for those nor for what they spawn. */
export const laterRunsOfAChildWait: Check = async (place) => {
  const { root } = await place.create()
  const node = place.node({ slots: 8 })
  const parent = await node.claim()
  await enter(parent, atOnce(1))
  await parent.record({ inputsConsumed: 1, spawns: [place.child(root, 1, 'child')], pendingCalls: [1] })
  const child = await node.claim({ slot: '1' })
  await child.complete({ result: resultOf(child) })
  await place.post(child.worker, 'again')
  const again = await node.claim({ slot: '1' })
  const spawns = [place.child(child.worker, 1, 'below', { run: 2 })]
  await again.record({ inputsConsumed: 1, spawns, pendingCalls: [1] })
  expect(await enter(await node.claim({ slot: '2' }), atOnce(1))).toMatchObject({ kind: 'waits' })
  await place.post(child.worker, 'more')
  await again.complete({ inputsConsumed: 0, pendingCount: 1 })
  expect(await enter(await node.claim({ slot: '3' }), atOnce(1))).toMatchObject({ kind: 'waits' })
}

export const nobodyOvertakes: Check = async (place) => {
  const { gate, turns, ids } = await crowd(place, 1, ['a', 'b'])
  await turns[0]?.complete()
  // The place is free, and nobody has given it away yet.
  const [late] = (await claimed(place, ['c'])) as [HandTurn]
  expect(await enter(late, gate)).toMatchObject({ kind: 'waits' })
  await open(place)
  expect(await holders(place, gate)).toEqual([ids[1]])
}

export const aRunThatIsCancelledLeavesThoseThatWait: Check = async (place) => {
  const { gate, turns } = await crowd(place, 1, ['a', 'b'])
  await place.sessions.cancel(turns[1]?.assignment.sessionId ?? '', 'enough')
  await place.node().upkeep.finishCancelled()
  expect(await waiters(place, gate)).toEqual([])
  expect(await statusOf(place, turns[1]?.worker ?? '')).toBe('terminal')
}

export const aChildThatWaitsReportsItsCancel: Check = async (place) => {
  const [other] = (await claimed(place, ['other'])) as [HandTurn]
  await enter(other, atOnce(1))
  const { root } = await place.create()
  const node = place.node({ slots: 8 })
  const parent = await node.claim({ slot: '5' })
  await parent.park('results:1', { spawns: [place.child(root, 1, 'child')], pendingCalls: [1] })
  const child = await node.claim({ slot: '6' })
  expect(await enter(child, atOnce(1))).toMatchObject({ kind: 'waits' })
  await place.sessions.cancelWorker(child.worker, 'worker', 'enough')
  await place.node().upkeep.finishCancelled()
  expect(await resultsOf(place, root)).toMatchObject([{ from: child.worker, status: 'cancelled', call: 1 }])
}

export const aPlaceThatNobodyHoldsIsGivenAway: Check = async (place) => {
  const { gate, ids } = await crowd(place, 1, ['a', 'b'])
  // A Redis that failed over lost the end of this run, or its session.
  await place.redis.hdel(place.workerKeys(ids[0] ?? '').record, 'gates')
  await open(place)
  expect(await holders(place, gate)).toEqual([ids[1]])
}

export const whoDoesNotWaitAnyMoreLeaves: Check = async (place) => {
  const { gate, turns, ids } = await crowd(place, 1, ['a', 'b', 'c'])
  await place.redis.hset(place.workerKeys(ids[1] ?? '').record, 'status', 'idle', 'wait', 'any')
  await turns[0]?.complete()
  await open(place)
  expect(await holders(place, gate)).toEqual([ids[2]])
  expect(await statusOf(place, ids[1] ?? '')).toBe('idle')
}

export const whoPassesOneGateWaitsAtTheOther: Check = async (place) => {
  const [a, b, c] = (await claimed(place, ['a', 'b', 'c'])) as [HandTurn, HandTurn, HandTurn]
  const [runs, rate] = [atOnce(1), within(2)]
  await enter(a, runs, rate)
  expect(await enter(b, runs, rate)).toMatchObject({ kind: 'waits', opensInMs: null })
  // Another run of the kind uses up the rate meanwhile.
  await enter(c, rate)
  await a.complete()
  await open(place)
  expect(await holders(place, runs)).toEqual([])
  expect(await waiters(place, rate)).toEqual([b.worker])
  expect(await gatesOf(place, b.worker)).toBe('rate all all')
  await place.redis.lset(gateOf(place, rate).begun, 0, 1)
  await open(place)
  expect(await holders(place, runs)).toEqual([b.worker])
  expect(await waiters(place, rate)).toEqual([])
}

const isGone = async (place: Place, gate: GateOrder) => {
  expect(await place.redis.zcard(gatesKey(place.keys.tag))).toBe(0)
  expect(await place.redis.exists(...Object.values(gateOf(place, gate)))).toBe(0)
}

export const aGateGoesWithItsLastRun: Check = async (place) => {
  const { gate, turns } = await crowd(place, 1, ['a', 'b'])
  await turns[0]?.complete()
  await open(place)
  await (await place.node().claim()).complete()
  await isGone(place, gate)
}

export const aGateAtWhichNobodyIsGoes: Check = async (place) => {
  const [turn] = (await claimed(place, ['a'])) as [HandTurn]
  const gate = within(1)
  await enter(turn, gate)
  await place.redis.lset(gateOf(place, gate).begun, 0, 1)
  await open(place)
  await isGone(place, gate)
}

export const aPlaceOutlivesANode: Check = async (place) => {
  const { gate, turns, ids } = await crowd(place, 1, ['a', 'b'])
  await place.expireLease(ids[0] ?? '')
  await turns[0]?.node.sweep({ free: 0 })
  await open(place)
  expect(await holders(place, gate)).toEqual([ids[0]])
  const again = await place.node({ id: 'node-b' }).claim()
  expect(again.assignment).toMatchObject({ workerId: ids[0], gates: { state: 'in' } })
  await again.complete()
  await open(place)
  expect(await holders(place, gate)).toEqual([ids[1]])
}

export const aRunThatWaitsIsToldSoAgain: Check = async (place) => {
  const { turns } = await crowd(place, 1, ['a', 'b'])
  expect(await enter(turns[1] as HandTurn, atOnce(1))).toEqual({ kind: 'waits', opensInMs: null })
}
