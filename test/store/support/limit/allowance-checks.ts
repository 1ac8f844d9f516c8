/** How the count of what tokens give must not err; a mutant of each guard fails here. */
import { expect } from 'vitest'
import { AllowanceStore, type GiveOrder } from '../../../../src/store/allowance-store.ts'
import { allowanceKeys } from '../../../../src/store/keys.ts'
import type { Place } from '../place.ts'
import type { Check } from '../turn/checks.ts'

/** `token`s of 100 in a request of a token that may give 150 within an hour. */
export function give({ caller, keys, redis, deadlineMs }: Place, request: string, order: Partial<GiveOrder> = {}) {
  const first = { partition: 0, keys, redis, caller, prefix: keys.queuePrefix }
  const more = { sessions: 1, modelCalls: 0, tokens: 100, toolCalls: 0 }
  const whole = { token: 'shop', request, more, most: { tokens: 150 }, knownMs: 60_000, ...order }
  return new AllowanceStore(first, deadlineMs).give(whole)
}

export const whatARequestGivesIsCountedOnce: Check = async (place) => {
  const more = { sessions: 1, modelCalls: 0, tokens: 60, toolCalls: 0 }
  expect(await give(place, 'one', { more })).toEqual({ kind: 'ok' })
  expect(await place.changed(() => give(place, 'one', { more }))).toEqual({})
  expect(await give(place, 'another')).toMatchObject({ kind: 'over', what: 'tokens', given: 60 })
}

export const aTokenGivesNoMoreThanItMay: Check = async (place) => {
  await give(place, 'one')
  const over = await place.changed(async () => expect(await give(place, 'another')).toMatchObject({ kind: 'over' }))
  expect(over).toEqual({})
  expect(await give(place, 'of another token', { token: 'ci' })).toEqual({ kind: 'ok' })
  expect(
    await give(place, 'all that is left', { more: { sessions: 1, modelCalls: 7, tokens: 50, toolCalls: 7 } }),
  ).toEqual({
    kind: 'ok',
  })
  // Allowances without a bound, and requests that ask for nothing.
  const none = { sessions: 0, modelCalls: 1e9, tokens: 0, toolCalls: 1e9 }
  expect(await give(place, 'nothing of it', { more: none })).toEqual({ kind: 'ok' })
  expect(await give(place, 'a session', { most: { sessions: 2 } })).toMatchObject({ what: 'sessions', given: 2 })
}

export const whatWasGivenMoreThanAnHourAgoCountsNoMore: Check = async (place) => {
  const { given } = allowanceKeys(place.keys.tag, 'shop')
  await give(place, 'one')
  const [[minute, four] = []] = Object.entries(await place.redis.hgetall(given))
  await place.redis.del(given)
  await place.redis.hset(given, String(Number(minute) - 60), String(four))
  const over = await give(place, 'another')
  // A request counts until the whole of its minute is more than an hour ago.
  expect(over).toMatchObject({ kind: 'over', given: 100 })
  expect(over.kind === 'over' && over.roomMs).toBeGreaterThan(0)
  expect(over.kind === 'over' && over.roomMs).toBeLessThanOrEqual(60_000)
  await place.redis.del(given)
  await place.redis.hset(given, String(Number(minute) - 61), String(four))
  expect(await give(place, 'another')).toEqual({ kind: 'ok' })
  expect(Object.keys(await place.redis.hgetall(given))).toHaveLength(1)
}

export const whatWasGivenAheadOfTheClockWasGivenNow: Check = async (place) => {
  const { given } = allowanceKeys(place.keys.tag, 'shop')
  await give(place, 'one')
  const [[minute, four] = []] = Object.entries(await place.redis.hgetall(given))
  await place.redis.del(given)
  await place.redis.hset(given, String(Number(minute) + 600), String(four))
  const over = await give(place, 'another')
  expect(over).toMatchObject({ kind: 'over', given: 100 })
  expect(over.kind === 'over' && over.roomMs).toBeLessThanOrEqual(61 * 60_000)
  const [[written] = [''], ...others] = Object.entries(await place.redis.hgetall(given))
  expect([Number(written) - Number(minute) <= 1, others]).toEqual([true, []])
}
