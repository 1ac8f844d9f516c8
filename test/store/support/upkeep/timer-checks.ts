/** Like checks.ts, of timers that fire. */
import { expect } from 'vitest'
import type { Check } from '../turn/checks.ts'

export const aTimerFiresOnce: Check = async (place) => {
  const { root } = await place.create()
  const node = place.node()
  await (await node.claim()).park('signals', { timers: [{ id: 't1', ms: 0, valueJson: '1' }], signalsOpen: 1 })
  await node.upkeep.fire()
  expect(await node.upkeep.fire()).toMatchObject({ fired: 0 })
  expect(await place.redis.llen(place.workerKeys(root).signals)).toBe(1)
}

export const aFirePostsNoMoreBytesThanAScriptMay: Check = async (place) => {
  const { root } = await place.create()
  const node = place.node()
  const half = JSON.stringify('x'.repeat(500_000))
  const whole = JSON.stringify('x'.repeat(1_048_574))
  const timers = [half, half, half, whole, half].map((valueJson, index) => ({ id: `t${index}`, ms: 0, valueJson }))
  await (await node.claim()).park('signals', { timers, signalsOpen: timers.length })
  for (const fired of [2, 1, 1]) expect(await node.upkeep.fire()).toMatchObject({ fired, dueInMs: 0 })
  expect(await node.upkeep.fire()).toMatchObject({ fired: 1, dueInMs: null })
  expect(await place.redis.llen(place.workerKeys(root).signals)).toBe(5)
}
