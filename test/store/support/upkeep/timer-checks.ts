/** Like checks.ts, of timers that fire. */
import { expect } from 'vitest'
import type { Place } from '../place.ts'
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

const hourMs = 3_600_000

/** Many timers, most of them of one moment, which were set before the clock was set back by an hour. */
async function setBack(place: Place) {
  const { root } = await place.create()
  const { timers, meta } = place.keys
  const now = await place.now()
  const due = (number: number) => now + 2 * hourMs + (number < 800 ? 0 : number)
  await place.redis.zadd(
    timers,
    ...Array.from({ length: 1_201 }, (_, number) => [due(number), `${root}:t${number}`]).flat(),
  )
  await place.redis.hset(meta, 'sweptAt', now + hourMs)
  const sweep = () => place.node().sweep({ free: 0, soonAfter: true })
  return { timers, meta, now, due, sweep }
}

export const timersMoveSomeAtATime: Check = async (place) => {
  const { timers, now, due, sweep } = await setBack(place)
  for (let call = 0; call < 2; call++)
    expect(await sweep()).toMatchObject({ setBack: null, hasMore: true, isHealer: true })
  expect(await place.redis.zcount(timers, '-inf', now + hourMs + hourMs / 2)).toBe(1_000)
  expect(await sweep()).toMatchObject({ setBack: { timers: 1_201 }, hasMore: false })
  const scores = await place.redis.zrange(timers, '0', '-1', 'WITHSCORES')
  for (let at = 0; at < scores.length; at += 2) {
    const before = due(Number(scores[at]?.split(':t')[1]))
    expect(Math.abs(before - hourMs - Number(scores[at + 1]))).toBeLessThan(10_000)
  }
  expect(await sweep()).toMatchObject({ setBack: null, hasMore: false })
}

export const anotherStepBackIsSeen: Check = async (place) => {
  const { meta, sweep } = await setBack(place)
  await sweep()
  // As if the clock had been set back by another hour since that sweep.
  await place.redis.hincrby(meta, 'sweptAt', hourMs)
  await sweep()
  expect(await sweep()).toMatchObject({ setBack: { timers: 1_201 } })
  // 401 of them had been set for a time behind the highest that was seen.
  expect(await sweep()).toMatchObject({ setBack: { timers: 401 } })
}
