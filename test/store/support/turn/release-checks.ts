/** What a dying node may take from its workers, and what it may not. */
import { expect } from 'vitest'
import { releaseTurn, releaseWords as words } from '../release-turn.ts'
import type { Check } from './checks.ts'

export const aReleasedStartCountsForItsAuthorAlone: Check = async (place) => {
  const { root } = await place.create()
  const node = place.node()
  await releaseTurn(place, await node.claim())
  expect(await place.redis.hmget(place.workerKeys(root).record, 'status', 'token', 'lastWords')).toEqual([
    'queued',
    '0:',
    words,
  ])
  expect(await place.redis.zcard(place.keys.leases)).toBe(0)
  const second = await node.claim()
  expect(second.assignment).toMatchObject({ epoch: 1, starts: 1, crashes: 1, lastWords: words })
  await releaseTurn(place, second, [root])
  expect((await node.claim()).assignment).toMatchObject({ epoch: 2, starts: 2, crashes: 2 })
}

export const aReleaseFencesTheTurn: Check = async (place) => {
  await place.create()
  const turn = await place.node().claim()
  await releaseTurn(place, turn)
  expect(await turn.commit({ entries: ['{}'] })).toMatchObject({ kind: 'fenced' })
}

export const aReleaseTakesNoWorkerOfAnother: Check = async (place) => {
  const { root } = await place.create()
  const stale = await place.node().claim()
  await place.expireLease(root)
  await place.node({ id: 'node-b' }).sweep({ free: 0 })
  const turn = await place.node({ id: 'node-b' }).claim()
  await releaseTurn(place, stale)
  expect(await place.record(root)).toMatchObject({ status: 'running' })
  expect(await turn.commit({ entries: ['{}'] })).toMatchObject({ kind: 'ok' })
}

export const anIsolatedStartIsTakenBack: Check = async (place) => {
  const { root } = await place.create()
  const node = place.node()
  for (let start = 0; start < place.policy.suspectAfterStarts; start++)
    await releaseTurn(place, await node.claim(), [root])
  await releaseTurn(place, await node.claim({ maySuspect: true }))
  expect(await place.redis.hget(place.workerKeys(root).record, 'isolated')).toBe('0')
}

export const lastWordsGoWithACommit: Check = async (place) => {
  const { root } = await place.create()
  const node = place.node()
  await releaseTurn(place, await node.claim())
  const turn = await node.claim()
  await turn.record({ entries: ['{}'] })
  expect(await place.redis.hget(place.workerKeys(root).record, 'lastWords')).toBeNull()
}

/** Its last words stay, too. */
export const aReleasedTurnThatRecordedNothingChangesNoCount: Check = async (place) => {
  const { root } = await place.create()
  const node = place.node()
  const free = place.policy.suspectAfterStarts
  for (let start = 0; start < free; start++) await releaseTurn(place, await node.claim(), [root])
  await releaseTurn(place, await node.claim(), [root])
  const released = { open: false, end: { wait: 'again', isUncounted: true, isIsolated: true, next: null } } as const
  for (let time = 0; time < 2; time++) {
    const turn = await node.claim()
    expect(turn.assignment).toMatchObject({ starts: free + 2, suspect: true, lastWords: words })
    await turn.record(released)
    expect(await place.redis.hget(place.workerKeys(root).record, 'isolated')).toBe('1')
  }
  // A turn that has recorded something is released like any other.
  const turn = await node.claim()
  await turn.record({ entries: ['{}'] })
  await turn.record(released)
  expect((await node.claim()).assignment).toMatchObject({ starts: 1, suspect: false, lastWords: null })
}

export const lastWordsMakeNoRecord: Check = async (place) => {
  const { root } = await place.create()
  const turn = await place.node().claim()
  await turn.complete()
  await place.redis.del(place.workerKeys(root).record)
  await releaseTurn(place, turn, [root])
  expect(await place.redis.exists(place.workerKeys(root).record)).toBe(0)
}

export const damagedLastWordsBreakNoEvent: Check = async (place) => {
  const { root } = await place.create()
  await place.node().claim()
  await place.redis.hset(place.workerKeys(root).record, 'lastWords', 'a "quoted" word')
  await place.expireLease(root)
  await place.node({ id: 'node-b' }).sweep({ free: 0 })
  const [entry] = await place.redis.xrevrange(place.keys.events, '+', '-', 'COUNT', 1)
  expect(JSON.parse(entry?.[1][1] ?? '')).toEqual([['worker.interrupted', { starts: 1 }]])
}
