/** Like checks.ts, of runs whose gates are in another partition than they are. */
import { expect } from 'vitest'
import type { GateOrder } from '../../../../src/core/worker/gates.ts'
import { gateKeys, gatesKey } from '../../../../src/store/keys.ts'
import { enterScript, guestScript, hostScript } from '../../../../src/store/script/scripts.ts'
import { GuestStore } from '../../../../src/store/turn/guest-store.ts'
import { newSeed } from '../../../../src/store/wakeups.ts'
import type { HandTurn } from '../hand-node.ts'
import type { Place } from '../place.ts'
import type { Check } from '../turn/checks.ts'
import { atOnce, enter, holders, waiters, within } from './gate-checks.ts'

/** The first partition, which has the gates, and another one, which has the runs. */
export function partitionsOf(home: Place) {
  const other = home.beside(1)
  const open = [home, other].map(({ partition, keys, redis, caller }) => ({
    partition,
    keys,
    redis,
    caller,
    prefix: '',
  }))
  const guests = new GuestStore(open, home.policy)
  const claim = async (label: string) => {
    await other.create({ label })
    return other.node({ guests, slots: 8 }).claim({ slot: label })
  }
  const turnAt = async (label: string, gate: GateOrder) => {
    const turn = await claim(label)
    return { turn, kind: (await enter(turn, gate)).kind }
  }
  /** `all`: also words that are to be sent later. */
  const fire = async (place: Place, { all = false } = {}) => {
    const key = gatesKey(place.keys.tag)
    if (all) for (const entry of await home.redis.zrange(key, 0, '-1')) await home.redis.zadd(key, 1, entry)
    const { follows, ...fired } = await place.node({ id: 'sweeper', guests }).upkeep.fire()
    return { ...fired, ...(await follows) }
  }
  const ask = (turn: HandTurn, gate: GateOrder) => guests.ask(turn.assignment, [{ ...gate, key: undefined }])
  const toldIn = (place: Place) => home.redis.zrange(gatesKey(place.keys.tag), 0, '-1')
  return { other, claim, turnAt, fire, ask, toldIn }
}

const guestOf = ({ worker, assignment }: HandTurn, { id }: GateOrder) => `echo ${worker}:${assignment.version} ${id} -`

export const aGuestThatEndsLetsTheNextBegin: Check = async (home) => {
  const { other, turnAt, fire, toldIn } = partitionsOf(home)
  const gate = atOnce(1)
  const [a, b] = [await turnAt('a', gate), await turnAt('b', gate)]
  expect([a.kind, b.kind]).toEqual(['in', 'waits'])
  expect(await holders(home, gate)).toEqual([guestOf(a.turn, gate)])
  expect(await waiters(home, gate)).toEqual([guestOf(b.turn, gate)])
  expect(await a.turn.complete()).toMatchObject({ opensGate: true })
  expect(await fire(other)).toMatchObject({ opensGate: true })
  expect(await holders(home, gate)).toEqual([])
  await fire(home)
  const { woken } = await fire(home)
  expect(woken).toMatchObject([{ partition: 1 }])
  expect(await other.record(b.turn.worker)).toMatchObject({ status: 'queued', gates: `in ${gate.id} - 0` })
  expect(await holders(home, gate)).toEqual([guestOf(b.turn, gate)])
  expect(await toldIn(home)).not.toContain(`> ${guestOf(b.turn, gate)}`)
  expect(await toldIn(other)).toEqual([guestOf(b.turn, gate)])
}

export const aPlaceOfAGuestThatIsGoneIsGivenAway: Check = async (home) => {
  const { other, turnAt, fire } = partitionsOf(home)
  const gate = atOnce(1)
  const { turn } = await turnAt('a', gate)
  // Its own partition has said that it began, and forgets all of it.
  await fire(other, { all: true })
  await home.redis.del(other.workerKeys(turn.worker).record, gatesKey(other.keys.tag))
  await fire(home, { all: true })
  await fire(home)
  expect(await holders(home, gate)).toEqual([])
}

export const aGuestThatMayStillComeKeepsItsPlace: Check = async (home) => {
  const { claim, ask, fire } = partitionsOf(home)
  const gate = atOnce(1)
  const turn = await claim('a')
  expect(await ask(turn, gate)).toBe('in')
  await fire(home, { all: true })
  expect(await holders(home, gate)).toEqual([guestOf(turn, gate)])
}

export const aGuestThatAskedAndDidNotComeFreesItsPlace: Check = async (home) => {
  const { other, claim, ask, fire } = partitionsOf(home)
  const gate = atOnce(1)
  const turn = await claim('a')
  await ask(turn, gate)
  await turn.complete()
  await fire(home, { all: true })
  expect(await holders(home, gate)).toEqual([])
  expect(await other.redis.exists(gatesKey(other.keys.tag))).toBe(0)
}

export const aGuestThatIsCancelledBeforeItBeginsFreesItsPlace: Check = async (home) => {
  const { other, claim, turnAt, fire } = partitionsOf(home)
  const gate = atOnce(1)
  const turn = await claim('a')
  await other.sessions.cancel(turn.assignment.sessionId, 'enough')
  expect((await enter(turn, gate)).kind).toBe('cancelled')
  expect(await holders(home, gate)).toEqual([guestOf(turn, gate)])
  await turn.complete({ outcome: 'cancelled', inputsConsumed: 0 })
  await fire(other)
  expect(await holders(home, gate)).toEqual([])
  expect((await turnAt('b', gate)).kind).toBe('in')
}

export const aGuestOfAPausedSessionTakesNoPlace: Check = async (home) => {
  const { other, turnAt, fire } = partitionsOf(home)
  const gate = atOnce(1)
  const [a, b, c] = [await turnAt('a', gate), await turnAt('b', gate), await turnAt('c', gate)]
  const { sessionId } = b.turn.assignment
  await other.sessions.pauses.pause(sessionId, { at: 1 })
  await a.turn.complete()
  for (const place of [other, home, home, home, home]) await fire(place)
  expect(await holders(home, gate)).toEqual([guestOf(c.turn, gate)])
  const node = b.turn.node
  const next = await node.claim({ slot: 'd' })
  expect(next.worker).toBe(c.turn.worker)
  await other.sessions.pauses.resume(sessionId, '[["session.resumed",{}]]')
  const again = await node.claim({ slot: 'e' })
  expect([again.worker, (await enter(again, gate)).kind]).toEqual([b.turn.worker, 'waits'])
  // That it was passed over is told late.
  const late = { guest: guestOf(b.turn, gate), standing: 'out', ancestors: undefined, at: undefined }
  await home.caller.call(hostScript, { gates: gatesKey(home.keys.tag) }, late, { deadlineMs: 5_000 })
  expect(await waiters(home, gate)).toEqual([guestOf(again, gate)])
}

export const aGuestThatIsSaidToBeInTooLateLeaves: Check = async (home) => {
  const { turnAt, fire } = partitionsOf(home)
  const gate = atOnce(1)
  const { turn } = await turnAt('a', gate)
  await turn.complete()
  await fire(home.beside(1))
  expect(await holders(home, gate)).toEqual([])
  const late = { guest: guestOf(turn, gate), standing: 'in', ancestors: undefined, at: undefined }
  await home.caller.call(hostScript, { gates: gatesKey(home.keys.tag) }, late, { deadlineMs: 5_000 })
  await fire(home)
  expect(await holders(home, gate)).toEqual([])
}

export const aGuestThatTheFirstPartitionForgotBegins: Check = async (home) => {
  const { other, turnAt, fire } = partitionsOf(home)
  const gate = atOnce(1)
  const { turn } = await turnAt('a', gate)
  const late = await turnAt('b', gate)
  const keys = gateKeys(home.keys.tag, `echo:runs:${gate.id}`)
  await home.redis.del(keys.in, keys.waiting, gatesKey(home.keys.tag))
  await turn.complete()
  await fire(other, { all: true })
  expect(await other.record(late.turn.worker)).toMatchObject({ status: 'queued', gates: `in ${gate.id} - 0` })
}

/** A fail-over may take the gate itself back, with its numbers. */
export const guestsOfAGateThatHasGoneBeginAsItAllowed: Check = async (home) => {
  const { other, turnAt, fire } = partitionsOf(home)
  for (const gate of [atOnce(1), within(1)]) {
    const { all, gate: numbers, ...sets } = gateKeys(home.keys.tag, `echo:${gate.sort}:${gate.id}`)
    const { turn } = await turnAt(`${gate.sort} a`, gate)
    for (const label of ['b', 'c', 'd']) await turnAt(`${gate.sort} ${label}`, gate)
    await turn.complete()
    await home.redis.del(all, numbers, ...Object.values(sets))
    await fire(other, { all: true })
    expect(await waiters(home, gate)).toHaveLength(2)
  }
}

/** Numbers of a run that waits are older than those that the gate has since then. */
export const aGuestThatWaitsChangesNoNumbers: Check = async (home) => {
  const { other, claim, ask, turnAt, fire } = partitionsOf(home)
  const gate = atOnce(1)
  await turnAt('a', gate)
  await turnAt('b', gate)
  await ask(await claim('c'), { ...gate, most: 3 })
  const keys = gateKeys(home.keys.tag, `echo:runs:${gate.id}`)
  await home.redis.del(keys.waiting)
  await fire(other, { all: true })
  expect(await home.redis.hget(keys.gate, 'most')).toBe('3')
}

export const aGuestInProgressCountsAgain: Check = async (home) => {
  const { other, turnAt, fire } = partitionsOf(home)
  const gate = atOnce(1)
  const { turn } = await turnAt('a', gate)
  await home.redis.del(gateKeys(home.keys.tag, `echo:runs:${gate.id}`).in)
  await fire(other, { all: true })
  expect(await holders(home, gate)).toEqual([guestOf(turn, gate)])
}

export const aGuestThatWasCancelledWaitsNoMore: Check = async (home) => {
  const { other, turnAt, fire } = partitionsOf(home)
  const gate = atOnce(1)
  await turnAt('a', gate)
  const { turn } = await turnAt('b', gate)
  await other.sessions.cancel(turn.assignment.sessionId, 'enough')
  await other.node().upkeep.finishCancelled()
  await fire(other)
  expect(await waiters(home, gate)).toEqual([])
}

export const aGuestThatAsksAgainTakesNoOtherPlace: Check = async (home) => {
  const { claim, ask } = partitionsOf(home)
  const gate = within(5)
  const turn = await claim('a')
  expect([await ask(turn, gate), await ask(turn, gate)]).toEqual(['in', 'in'])
  expect(await home.redis.llen(gateKeys(home.keys.tag, `echo:rate:${gate.id}`).begun)).toBe(1)
}

export const aGuestThatAsksAgainKeepsItsTurn: Check = async (home) => {
  const { claim, turnAt, ask } = partitionsOf(home)
  const gate = atOnce(1)
  await turnAt('a', gate)
  const turn = await claim('b')
  expect(await ask(turn, gate)).toBe('runs none')
  const { waiting } = gateKeys(home.keys.tag, `echo:runs:${gate.id}`)
  await home.redis.zadd(waiting, 5, guestOf(turn, gate))
  expect(await ask(turn, gate)).toBe('runs none')
  expect(await home.redis.zrange(waiting, 0, '-1', 'WITHSCORES')).toEqual([guestOf(turn, gate), '5'])
}

export const aGuestIsToldOfUntilItIsKnown: Check = async (home) => {
  const { other, turnAt, fire, toldIn } = partitionsOf(home)
  const gate = atOnce(1)
  const { turn } = await turnAt('a', gate)
  await turn.complete()
  // This node dies before it tells.
  await other.node({ id: 'dies' }).upkeep.fire()
  expect(await holders(home, gate)).toEqual([guestOf(turn, gate)])
  await fire(other, { all: true })
  expect(await holders(home, gate)).toEqual([])
  expect(await toldIn(other)).toEqual([])
}

/** A run of some worker elsewhere asks here. */
export function askAsGuest(place: Place, number: number, { key: _key, ...gate }: GateOrder): Promise<unknown> {
  const ids = gate.sort === 'runs' ? `${gate.id} -` : `- ${gate.id}`
  return place.caller.call(
    hostScript,
    { gates: gatesKey(place.keys.tag) },
    {
      guest: `echo 01a21fdd-2dcd-851a-abfe-308d5fba500${number}:0 ${ids}`,
      standing: 'asks',
      ancestors: [],
      at: [gate],
    },
    { deadlineMs: place.deadlineMs },
  )
}

const recordAndGates = (place: Place, { worker }: HandTurn) => ({
  record: place.workerKeys(worker).record,
  gates: gatesKey(place.keys.tag),
})

/** The run of this turn waits at a gate elsewhere. */
export async function waitAsGuest(place: Place, turn: HandTurn, { key: _key, ...gate }: GateOrder): Promise<void> {
  const { worker, assignment } = turn
  await place.caller.call(
    enterScript,
    { ...recordAndGates(place, turn), leases: place.keys.leases },
    { worker, token: assignment.token, guest: 'runs none', at: [gate] },
    { deadlineMs: place.deadlineMs },
  )
}

export function mayBegin(place: Place, turn: HandTurn, gate: GateOrder): Promise<unknown> {
  const what = { guest: guestOf(turn, gate), says: 'in', seed: newSeed(), wakeupMs: 1_000 }
  return place.caller.call(guestScript, recordAndGates(place, turn), what, { deadlineMs: place.deadlineMs })
}
