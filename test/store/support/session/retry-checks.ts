/** Short checks of retried sessions, which run against scripts without one guard. */
import { expect } from 'vitest'
import { digestKey } from '../../../../src/core/ids.ts'
import { defaultSpending } from '../../../../src/core/policy.ts'
import { encodeOrder } from '../../../../src/core/worker/message/order.ts'
import type { RetryOrder } from '../../../../src/store/session/session-store.ts'
import type { CreateOptions, Place } from '../place.ts'
import type { Check } from '../turn/checks.ts'

const failure = { code: 'run_failed', message: 'no', origin: 'model', at: 1, attempt: 1, retryable: false } as const

export function retryOrder(more: Partial<RetryOrder> = {}): RetryOrder {
  const going = { runState: 'GeneratingResponse', calls: 0, steps: 0, entries: ['{"type":"retried"}'], mail: '' }
  return { version: 1, run: 1, ...going, event: '[["session.retried",{}]]', ...more }
}

/** A session whose first run failed. */
export async function failed(place: Place, options: CreateOptions = {}) {
  const { id, root } = await place.create(options)
  const node = place.node()
  const fail = async (more: object = {}) =>
    (await node.claim()).complete({ outcome: 'failed', runState: 'Failed', failure, ...more })
  const retry = (more: Partial<RetryOrder> = {}) => place.sessions.retry(id, retryOrder(more))
  return { id, root, node, fail, retry, record: () => place.redis.hgetall(place.workerKeys(root).record) }
}

export const aRetrySentTwiceCountsOnce: Check = async (place) => {
  const { fail, retry } = await failed(place)
  await fail()
  expect(await retry()).toMatchObject({ kind: 'ok' })
  const { last } = place.wire
  const again = async () => expect(await place.wire.again(last)).toEqual(last.reply)
  expect(await place.changed(again)).toEqual({})
}

export const aClosedConversationIsNotRetried: Check = async (place) => {
  const { id, fail, retry } = await failed(place, { mode: 'conversation' })
  await fail()
  await place.sessions.close(id)
  expect(await retry()).toEqual({ kind: 'not_failed', state: 'completed' })
}

export const aCompletedRunIsNotRetried: Check = async (place) => {
  const { node, retry } = await failed(place, { mode: 'conversation' })
  await (await node.claim()).complete()
  expect(await retry()).toEqual({ kind: 'not_failed', state: 'active' })
}

export const aRecordThatMovedOnIsNotRetried: Check = async (place) => {
  const { fail, retry } = await failed(place)
  await fail()
  expect(await retry({ version: 7 })).toEqual({ kind: 'moved' })
  expect(await retry({ run: 2 })).toEqual({ kind: 'moved' })
}

export const anOrderLeavesTheFailure: Check = async (place) => {
  const { root, node, fail, record } = await failed(place, { mode: 'conversation' })
  await fail()
  const digest = place.label(digestKey('compact', 'act'), 'compact')
  await place.sessions.post(root, encodeOrder({ do: 'compact' }), { digest, isGiven: false }, '[]')
  const turn = await node.claim()
  expect((await record()).failed).toBe('1')
  await turn.record({ inputsConsumed: 1, open: false, end: { wait: 'any', next: null } })
  await place.post(root, 'next')
  await node.claim()
  expect((await record()).failed).toBe('0')
}

export const aPrunedSessionIsNotRetried: Check = async (place) => {
  const { root, fail, retry } = await failed(place)
  await fail()
  await place.redis.hset(place.workerKeys(root).record, 'retired', 1)
  expect(await retry()).toEqual({ kind: 'not_found' })
}

export const aCancelledTreeIsNotRetried: Check = async (place) => {
  const { id, root, node, retry } = await failed(place)
  const spawns = [place.child(root, 1, 'free', { detached: true })]
  const turn = await node.claim()
  await turn.record({ spawns, inputsConsumed: 1 })
  await turn.complete({ outcome: 'failed', runState: 'Failed', failure, inputsConsumed: 0 })
  await place.sessions.cancel(id, 'enough')
  expect(await retry({ version: 2 })).toEqual({ kind: 'not_failed', state: 'cancelled' })
}

export const aRetryWaitsForCancelledChildren: Check = async (place) => {
  const { root, node, retry } = await failed(place)
  const turn = await node.claim()
  await turn.record({ spawns: [place.child(root, 1, 'child')], pendingCalls: [1], inputsConsumed: 1 })
  await turn.complete({ outcome: 'failed', runState: 'Failed', failure, inputsConsumed: 0, pendingCount: 1 })
  expect(await retry({ version: 2 })).toEqual({ kind: 'ending' })
}

export const aLetterIsRetriedOnce: Check = async (place) => {
  const { root, fail, retry } = await failed(place, { mode: 'conversation' })
  await fail({ dead: '{}', entries: ['{}'] })
  const [letter] = await place.letters.newestLetters(1)
  await place.sessions.redrive(root, letter?.id ?? '', '[]')
  await fail({ entries: ['{}'] })
  expect(await retry({ version: 2, run: 2, letter: letter?.id, entries: [] })).toEqual({ kind: 'no_letter' })
}

export const theFailedRunOfALetterKeepsItsResult: Check = async (place) => {
  const { id, root, fail, retry } = await failed(place)
  await fail({ dead: '{}', entries: ['{}'] })
  const [letter] = await place.letters.newestLetters(1)
  expect(await retry({ letter: letter?.id, entries: [] })).toMatchObject({ kind: 'ok' })
  expect(await place.redis.hgetall(place.sessionKeys(id).runResults)).toEqual({ 1: 'failed 0' })
  expect(await place.redis.llen(place.workerKeys(root).inbox)).toBe(1)
}

export const aRetriedRunIsOpenAgain: Check = async (place) => {
  const { id, root, node, fail, retry, record } = await failed(place)
  await fail()
  await place.redis.del(place.keys.wakeups('default'))
  const { wakeups } = { wakeups: [], ...(await retry({ calls: 3, steps: 2 })) }
  expect(wakeups).toHaveLength(1)
  const retried = await record()
  expect(retried).toMatchObject({ status: 'queued', run: '1', open: '1', calls: '3', steps: '2', failed: '0' })
  expect(retried).toMatchObject({ commit: expect.stringMatching(/:2$/) })
  expect(retried.ended).toBeUndefined()
  expect(await place.redis.exists(place.workerKeys(root).failure)).toBe(0)
  expect((await node.claim()).assignment).toMatchObject({ run: 1, open: true, calls: 3, steps: 2, sessionId: id })
}

export const aRetryKeepsTheLimitsOfOthers: Check = async (place) => {
  const { id, fail, retry, record } = await failed(place, { mode: 'conversation' })
  await fail()
  await place.sessions.limit(id, { tokens: 8 }, '[]')
  expect(await retry({ limits: { modelCalls: 7 } })).toMatchObject({ kind: 'ok' })
  expect(await record()).toMatchObject({ caps: `7 8 ${defaultSpending.toolCalls}` })
}

export const aRetriedRunHasNoResult: Check = async (place) => {
  const { id, fail, retry } = await failed(place, { mode: 'conversation' })
  await fail()
  await retry()
  expect(await place.redis.exists(place.sessionKeys(id).runResults)).toBe(0)
}
