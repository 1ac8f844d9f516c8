/** What model calls cost, by scripts; short checks, which run against scripts without one guard. */
import { expect } from 'vitest'
import type { Check } from '../turn/checks.ts'
import { parentWithChildren, used } from './spending-checks.ts'

const cost = (microUsd: number | null) => ({ model: 'test/m', inputTokens: 1, outputTokens: 2, microUsd })

/** A child and its root, each after a call; then the child after one more. */
export const costOfAll: Check = async (place) => {
  const { root, children } = await parentWithChildren(place)
  const [child, other] = children
  await child.record({ entries: ['{}'], stateJson: used(2), costs: [cost(30)] })
  await other.record({ entries: ['{}'], stateJson: used(1), costs: [cost(null), cost(12)] })
  await child.record({ entries: ['{}'], stateJson: used(3), costs: [cost(4)] })
  const record = (worker: string) => place.redis.hgetall(place.workerKeys(worker).record)
  expect((await record(root.worker)).sessionCost).toBe('46 1')
  expect((await record(child.worker)).cost).toBe('34 0')
  expect((await record(other.worker)).cost).toBe('12 1')
}

export const usageGoes: Check = async (place) => {
  await place.create()
  const turn = await place.node().claim()
  await turn.record({ entries: ['{}'], costs: [cost(30), cost(null)] })
  const [key = ''] = await place.redis.keys(`${place.keys.tag}:usage:*`)
  const lines = Object.entries(await place.redis.hgetall(key))
  const named = expect.stringMatching(new RegExp(`^\\d{1,2} ${turn.assignment.kind} test/m$`))
  expect(lines).toEqual([[named, '2 2 4 30 1']])
  expect(await place.redis.pttl(key)).toBeGreaterThan(399 * 86_400_000)
}
