/** Like checks.ts, of large results: they stand beside the lane of their parent, and a claim brings as many of them as fit. */
import { expect } from 'vitest'
import { encodeResult } from '../../../../src/core/worker/message/message.ts'
import type { HandTurn } from '../hand-node.ts'
import type { Place } from '../place.ts'
import { written } from '../session/fork-checks.ts'
import type { Check } from '../turn/checks.ts'

const bytes = 3_000

const largeOf = (child: HandTurn) =>
  encodeResult({ id: child.worker, name: 'c', kind: 'echo' }, child.assignment.call ?? 0, {
    status: 'completed',
    valueJson: JSON.stringify('x'.repeat(bytes)),
  })

/** A root whose children have all reported, the last one first. */
export async function gathered(place: Place, calls: readonly number[]) {
  const session = await place.create({ mode: 'conversation' })
  const node = place.node({ slots: 8 })
  const root = await node.claim()
  const spawns = calls.map((call) => place.child(root.worker, call, `c${call}`))
  await root.park(`results:${calls.length}`, { inputsConsumed: 1, spawns, pendingCalls: calls })
  const children: HandTurn[] = []
  for (const _ of calls) children.push(await node.claim())
  for (const child of children.toReversed()) await child.complete({ result: largeOf(child) })
  return { session, node, root: root.worker, keys: place.workerKeys(root.worker) }
}

const claimsOf = async (place: Place, calls: readonly number[], mailBytes: number) => {
  Object.assign(place.policy, { claimMailBytes: mailBytes })
  const { node, keys } = await gathered(place, calls)
  const { assignment } = await node.claim()
  return { assignment, keys }
}

export const aLargeResultStandsBesideItsLane: Check = async (place) => {
  const { keys } = await gathered(place, [1, 2])
  for (const text of await place.redis.lrange(keys.results, 0, -1))
    expect(text).toMatch(/^r\t.{36}\t[12]\tcompleted\t$/)
  expect(Object.keys(await place.redis.hgetall(keys.large)).toSorted()).toEqual(['1', '2'])
}

export const largeResultsComeInTheOrderOfTheirCalls: Check = async (place) => {
  const { assignment } = await claimsOf(place, [1, 2, 3, 4], 2 * bytes + 500)
  expect(assignment.mail.results.map(({ position, message }) => [position, message])).toMatchObject([
    [2, { call: 2, value: 'x'.repeat(bytes) }],
    [3, { call: 1, value: 'x'.repeat(bytes) }],
  ])
  // The lane begins with two that a later claim brings.
  expect(assignment.resultsSeen).toBe(0)
}

export const aLargeResultThatIsLostIsTold: Check = async (place) => {
  const { node, keys } = await gathered(place, [1, 2])
  await place.redis.hdel(keys.large, '1')
  const { assignment } = await node.claim()
  expect(assignment.mail.results.map(({ message }) => message)).toMatchObject([
    { call: 2, status: 'completed' },
    { call: 1, status: 'failed', failure: { message: expect.stringContaining('cannot be read') } },
  ])
}

export const aLargeResultGoesWhenItWasReceived: Check = async (place) => {
  const { node, keys } = await gathered(place, [1, 2])
  const turn = await node.claim()
  await turn.record({ resultsConsumed: [1], largeTaken: [1], pendingCalls: [2] })
  expect(await place.redis.hkeys(keys.large)).toEqual(['2'])
}

export const largeResultsGoWithTheirRun: Check = async (place) => {
  const { node, keys } = await gathered(place, [1, 2])
  await (await node.claim()).complete({ inputsConsumed: 0, pendingCount: 2 })
  expect(await place.redis.exists(keys.results, keys.large)).toBe(0)
}

export const aCopyHasLargeResults: Check = async (place) => {
  const { session } = await gathered(place, [1, 2])
  const copy = await written(place, session)
  const copied = await place.redis.hgetall(place.workerKeys(copy.root).large)
  expect(Object.keys(copied).toSorted()).toEqual(['1', '2'])
  // The copies of the results come from the children of the copy.
  const ids = await place.redis.lrange(place.sessionKeys(copy.id).workers, 0, -1)
  expect(ids.map((id) => copied[1]?.includes(id) || copied[2]?.includes(id))).toEqual([true, true])
}

export const aLargeResultThatCannotBeKeptTearsNoCommit: Check = async (place) => {
  const { root } = await place.create()
  const node = place.node({ slots: 8 })
  await (await node.claim()).park('results:1', { spawns: [place.child(root, 1, 'c1')], pendingCalls: [1] })
  const child = await node.claim()
  await place.redis.set(place.workerKeys(root).large, 'x')
  await expect(child.complete({ entries: ['{"type":"completed"}'], result: largeOf(child) })).rejects.toThrow('large')
  expect(await place.redis.exists(place.workerKeys(child.worker).log)).toBe(0)
}
