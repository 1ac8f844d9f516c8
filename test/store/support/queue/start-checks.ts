/** Like checks.ts, of children that wait to start because their parent's kind says how many of them run at once. */
import { expect } from 'vitest'
import type { SpawnOrder } from '../../../../src/core/ports/ports.ts'
import type { HandTurn } from '../hand-node.ts'
import type { CreateOptions, Place } from '../place.ts'
import { resultsOf } from '../turn/cancel-checks.ts'
import type { Check } from '../turn/checks.ts'

const call = (number: number) => ({ detached: number < 0, call: Math.abs(number) })

/** A root that spawned these calls with so many at once; a negative number is detached. It waits for two results. */
async function waiting(place: Place, atOnce: number, calls: readonly number[], options: CreateOptions = {}) {
  const session = await place.create(options)
  const node = place.node({ slots: 8 })
  const root = await node.claim()
  const spawns = calls.map((number) => place.child(root.worker, Math.abs(number), `c${Math.abs(number)}`, call(number)))
  const pendingCalls = spawns.filter(({ detached }) => !detached).map((spawn) => spawn.call)
  await root.park('results:2', { spawns, pendingCalls, childrenAtOnce: atOnce })
  return { session, node, root, ids: spawns.map(({ id }) => id) }
}

async function statusesOf(place: Place, ids: readonly string[]): Promise<string[]> {
  const statuses = ids.map((id) => place.redis.hget(place.workerKeys(id).record, 'status'))
  return (await Promise.all(statuses)).map(String)
}

const atOnceOf = (place: Place, worker: string) => place.redis.hget(place.workerKeys(worker).record, 'atOnce')

async function finishCancelled(place: Place): Promise<void> {
  await place.node().upkeep.finishCancelled()
}

const endOf = (turn: HandTurn, number: number) =>
  turn.complete({ result: `r\t${turn.worker}\t${number}\tcompleted\t{"name":"c","kind":"echo","value":1}` })

export const childrenBeyondThoseAtOnceWait: Check = async (place) => {
  const { root, ids } = await waiting(place, 2, [1, 2, 3, 4])
  expect(await statusesOf(place, ids)).toEqual(['queued', 'queued', 'parked', 'parked'])
  expect(await place.redis.lrange(place.workerKeys(root.worker).waiting, 0, -1)).toEqual(ids.slice(2))
  expect(await atOnceOf(place, root.worker)).toBe('2 2 2')
}

export const aParentAwaitsNoMoreResultsThanAClaimMayRead: Check = async (place) => {
  const session = await place.create()
  const root = await place.node().claim()
  const child = place.child(session.root, 1_001, 'c')
  const calls = (count: number) => Array.from({ length: count }, (_, index) => 1_001 - index)
  const with1001 = { spawns: [child], pendingCalls: calls(1_001), childrenAtOnce: 1 }
  expect(await root.commit(with1001)).toEqual({
    kind: 'refused',
    refusals: [{ reason: 'children_exceeded', limit: 1_000, id: child.id }],
  })
  expect(await root.commit({ ...with1001, pendingCalls: calls(1_000) })).toMatchObject({ kind: 'ok' })
}

export const aChildStartsOnce: Check = async (place) => {
  const { node, root, ids } = await waiting(place, 1, [1, 2, 3])
  await endOf(await node.claim({ slot: '1' }), 1)
  expect(await statusesOf(place, ids)).toEqual(['idle', 'queued', 'parked'])
  const second = await node.claim({ slot: '1' })
  expect(second.worker).toBe(ids[1])
  await endOf(second, 2)
  expect(await statusesOf(place, ids)).toEqual(['idle', 'idle', 'queued'])
  expect(await atOnceOf(place, root.worker)).toBe('1 1 0')
}

export const noMessageStartsAChild: Check = async (place) => {
  const { ids } = await waiting(place, 1, [1, 2])
  await place.post(ids[1] ?? '', 'second')
  expect(await statusesOf(place, ids)).toEqual(['queued', 'parked'])
}

export const aDetachedChildDoesNotWait: Check = async (place) => {
  const { ids } = await waiting(place, 1, [1, -2, 3])
  expect(await statusesOf(place, ids)).toEqual(['queued', 'queued', 'parked'])
}

export const noSlotTakesAChildThatWaits: Check = async (place) => {
  const { root } = await place.create()
  const node = place.node({ slots: 8 })
  const spawns = [1, 2].map((number) => place.child(root, number, `c${number}`))
  const offer = { slot: '0+', nonce: 'children.n', takes: [true, true] }
  const turn = await node.claim()
  const end = { wait: 'results:2', next: 'stay' } as const
  await turn.park('', { spawns, pendingCalls: [1, 2], childrenAtOnce: 1, offer, end })
  const ids = spawns.map(({ id }) => id)
  expect(await statusesOf(place, ids)).toEqual(['running', 'parked'])
}

export const noMoreRunThanTheSessionAllows: Check = async (place) => {
  const { ids } = await waiting(place, 5, [1, 2, 3], { limits: { children: 2 } })
  expect(await statusesOf(place, ids)).toEqual(['queued', 'queued', 'parked'])
}

export const aChildCancelledWhileItWaitsNeverStarts: Check = async (place) => {
  const { node, ids } = await waiting(place, 1, [1, 2, 3])
  await place.sessions.cancelWorker(ids[1] ?? '', 'worker', 'enough')
  await finishCancelled(place)
  expect(await statusesOf(place, ids)).toEqual(['queued', 'terminal', 'parked'])
  await endOf(await node.claim({ slot: '1' }), 1)
  expect(await statusesOf(place, ids)).toEqual(['idle', 'terminal', 'queued'])
}

export const aChildCancelledWhileItWaitsReports: Check = async (place) => {
  const { root, ids } = await waiting(place, 1, [1, 2])
  await place.sessions.cancelWorker(ids[1] ?? '', 'worker', 'enough')
  await finishCancelled(place)
  expect(await resultsOf(place, root.worker)).toMatchObject([{ from: ids[1], status: 'cancelled', call: 2 }])
}

export const aChildCancelledWhileItRunsMakesRoom: Check = async (place) => {
  const { ids } = await waiting(place, 1, [1, 2])
  await place.sessions.cancelWorker(ids[0] ?? '', 'worker', 'enough')
  await finishCancelled(place)
  expect(await statusesOf(place, ids)).toEqual(['terminal', 'queued'])
}

/** The root goes on with a second run. */
async function spawnsAgain(place: Place, root: HandTurn, node: { claim(): Promise<HandTurn> }): Promise<string[]> {
  await place.post(root.worker, 'next')
  const next = await node.claim()
  expect(next.worker).toBe(root.worker)
  const spawns: SpawnOrder[] = [1, 2].map((number) => place.child(root.worker, number, `n${number}`, { run: 2 }))
  await next.record({ inputsConsumed: 1, spawns, pendingCalls: [1, 2], childrenAtOnce: 1 })
  return statusesOf(
    place,
    spawns.map(({ id }) => id),
  )
}

export const theNextRunCountsAnew: Check = async (place) => {
  const { root } = await place.create({ mode: 'conversation' })
  const node = place.node({ slots: 8 })
  const turn = await node.claim()
  const spawns = [1, 2, 3].map((number) => place.child(root, number, `c${number}`))
  await turn.record({ inputsConsumed: 1, spawns, pendingCalls: [1, 2, 3], childrenAtOnce: 1 })
  await turn.complete({ inputsConsumed: 0, pendingCount: 3 })
  await finishCancelled(place)
  expect(await spawnsAgain(place, turn, node)).toEqual(['queued', 'parked'])
  expect(await place.redis.llen(place.workerKeys(root).waiting)).toBe(1)
}

export const theRunAfterACancelledOneCountsAnew: Check = async (place) => {
  const { root, node, ids } = await waiting(place, 1, [1, 2, 3], { mode: 'conversation' })
  await place.sessions.cancelWorker(root.worker, 'run', 'enough')
  await finishCancelled(place)
  await finishCancelled(place)
  expect(await statusesOf(place, ids)).toEqual(['terminal', 'terminal', 'terminal'])
  expect(await spawnsAgain(place, root, node)).toEqual(['queued', 'parked'])
}

export const noChildIsStartedAgainWhileThoseBehindItAreDamaged: Check = async (place) => {
  const { node, root } = await waiting(place, 1, [1, 2])
  const first = await node.claim({ slot: '1' })
  await place.redis.set(place.workerKeys(root.worker).waiting, 'x')
  await place.expireLease(first.worker)
  await node.sweep({ free: 0 })
  expect(await node.ask()).toEqual({ kind: 'empty' })
}
