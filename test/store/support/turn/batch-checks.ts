/** What commits of one script, and children that a slot goes on with, must not do; a mutant of each guard fails here. */
import { expect } from 'vitest'
import { endOf, siblings, together } from '../calls/batch-calls.ts'
import { completed, running } from '../calls/call-scenes.ts'
import type { HandTurn } from '../hand-node.ts'
import type { Place } from '../place.ts'
import type { Check } from './checks.ts'

const lineOf = (place: Place) => place.redis.zrange(place.keys.run('default'), '0', '-1')

export const noneThatEndedKeepsALease: Check = async (place) => {
  const { node, children } = await siblings(place)
  await together(
    node,
    children.map((child) => endOf(child)),
  )
  expect(await place.redis.zcard(place.keys.leases)).toBe(0)
}

export const noneThatIsClaimedAgainLosesItsLease: Check = async (place) => {
  const { node, children } = await siblings(place, ['a', 'b'])
  const next = (slot: string) => ({ wait: 'again', next: node.next({ slot }) })
  await together(
    node,
    children.map((child, index) => child.request({ end: next(String(index + 1)) })),
  )
  expect(await place.redis.zcard(place.keys.leases)).toBe(2)
}

export const aSleepingSlotTakesItsWakeup: Check = async (place) => {
  const { node, children } = await siblings(place)
  const now = await place.now()
  for (const index of children.keys()) await place.redis.zadd(place.keys.wakeups('default'), now + 20_000, `m${index}`)
  await place.redis.set(place.keys.slots('default'), '0')
  const requests = children.slice(0, 2).map((child, index) => {
    const next = node.next({ slot: String(index + 1), wakeup: `m${index}` })
    return endOf(child, { end: { wait: 'any', next }, wakeup: `m${index}` })
  })
  await together(node, requests)
  expect(await place.redis.zrange(place.keys.wakeups('default'), '0', '-1')).toEqual(['m2'])
}

export const damageOfOneStopsNoOther: Check = async (place) => {
  const { node, parent, children } = await siblings(place)
  await place.redis.set(place.workerKeys(children[1]?.worker ?? '').log, 'x')
  const answers = await Promise.allSettled(children.map((child) => node.turns.commit(endOf(child))))
  expect(answers.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(await place.redis.zrange(place.keys.leases, '0', '-1')).toEqual([children[1]?.worker])
  expect(await place.redis.llen(place.workerKeys(parent.worker).results)).toBe(2)
}

export const whoWasSuspectedIsNoMore: Check = async (place) => {
  const { children } = await siblings(place)
  const [child] = children as [HandTurn]
  await place.redis.hset(place.workerKeys(child.worker).record, 'isolated', '2')
  await child.commit(endOf(child))
  expect((await place.record(child.worker)).isolated).toBe('0')
}

export const aTurnThatEndsEndsItsWait: Check = async (place) => {
  const { children } = await siblings(place)
  const [child] = children as [HandTurn]
  await place.redis.hset(place.workerKeys(child.worker).record, 'wait', 'signals')
  await child.commit(endOf(child))
  expect(await place.record(child.worker)).toMatchObject({ status: 'idle', wait: 'any' })
}

async function offered(place: Place) {
  const { node, turn } = await running(place)
  const spawns = [place.child(turn.worker, 1, 'c1')]
  const offer = { slot: '0+', nonce: place.nonce(), takes: [true] }
  const end = { wait: 'results:1', next: 'stay' } as const
  return {
    node,
    child: spawns[0]?.id ?? '',
    request: turn.request({ inputsConsumed: 1, spawns, offer, pendingCalls: [1], end }),
  }
}

export const aChildThatALeaseWasTakenFromIsNotGivenAgain: Check = async (place) => {
  const { node, child, request } = await offered(place)
  await node.turns.commit(request)
  await place.expireLease(child)
  await place.node({ id: 'node-b' }).sweep({ free: 0 })
  expect(await node.turns.commit(request)).toMatchObject({ kind: 'ok', assigned: [] })
}

export const aChildWithMoreMailIsQueued: Check = async (place) => {
  const { node, child, request } = await offered(place)
  await node.turns.commit({ ...request, sends: [{ workerId: child, mail: 'i\t-\t1' }] })
  expect(await lineOf(place)).toEqual([child])
}

export const aChildOfAnEndedRunIsGivenToNoSlot: Check = async (place) => {
  const { node, request } = await offered(place)
  const ended = { ...completed, pendingCalls: [], pendingCount: 1 }
  expect(await node.turns.commit({ ...request, ...ended })).toMatchObject({ kind: 'ok' })
  expect(await place.redis.zcard(place.keys.leases)).toBe(0)
}

export const aChildOfASlotHasALease: Check = async (place) => {
  const { node, child, request } = await offered(place)
  await node.turns.commit(request)
  expect(await place.redis.zrange(place.keys.leases, '0', '-1')).toEqual([child])
}

export const withoutLeasesNoChildRuns: Check = async (place) => {
  const { node, request } = await offered(place)
  await place.redis.set(place.keys.leases, 'x')
  expect(await place.changed(() => node.turns.commit(request).catch(() => {}))).toEqual({})
}
