/** Keys: all of a partition share its hash tag, and no two things share a key. */
import { expect, test } from 'vitest'
import { newId, rootIdOf } from '../../src/core/ids.ts'
import { nodeSlotsKey, outboxKeys, partitionKeys, sessionKeys, tagOf, workerKeys } from '../../src/store/keys.ts'
import { newSeed, parseWakeups } from '../../src/store/wakeups.ts'
import { Place } from './support/place.ts'

const tag = tagOf('troupe', 7)

function allKeys(): string[] {
  const session = newId(7)
  const partition = Object.values(partitionKeys(tag)).flatMap((key) =>
    typeof key === 'function' ? [key('default', 'node-a'), key('other', 'node-a')] : key === tag ? [] : [key],
  )
  return [
    ...partition,
    ...Object.values(outboxKeys(tag)).map((key) => (typeof key === 'function' ? key('3') : key)),
    ...Object.values(sessionKeys(tag, session)),
    ...Object.values(workerKeys(tag, rootIdOf(session))),
    ...Object.values(workerKeys(tag, newId(7))),
  ]
}

test('a tag is namespace and partition in braces', () => {
  expect(tag).toBe('{troupe.7}')
})

test('every key of a partition begins with its tag and has no other brace', () => {
  for (const key of allKeys()) expect(key).toMatch(/^\{troupe\.7\}:[^{}]+$/)
})

test('no two things share a key of Redis', () => {
  expect(new Set(allKeys()).size).toBe(allKeys().length)
})

test('keys that the scripts put together themselves are those of keys.ts', async () => {
  await using place = await Place.open()
  const { id, root } = await place.create()
  const node = place.node()
  const turn = await node.claim({ wakeup: 'mine', keepWakeup: true })
  await node.turns.renew([{ workerId: root, token: turn.assignment.token, wakeup: 'mine', becomesBusy: true }])
  const child = place.child(root, 1, 'child')
  await turn.park('signals', {
    spawns: [child],
    pendingCalls: [1],
    stateJson: JSON.stringify('x'.repeat(100)),
    failure: { code: 'run_failed', message: 'x', origin: 'handler', at: 1, attempt: 1, retryable: false },
    timers: [
      { id: 't1', ms: 0, valueJson: '1' },
      { id: 't2', ms: 600_000, valueJson: '1' },
    ],
    signalsOpen: 2,
  })
  await node.sweep({ free: 0, workersPerWake: 3 })
  await node.upkeep.fire()
  await place.post(child.id, 'hello')
  await place.sessions.cancel(id, 'enough')
  const known = new Set([
    nodeSlotsKey(place.keys.tag),
    ...Object.values(partitionKeys(place.keys.tag)).flatMap((key) =>
      typeof key === 'function' ? [key('default', 'node-a'), key('node-a', 'node-a')] : [key],
    ),
    ...Object.values(sessionKeys(place.keys.tag, id)),
    ...Object.values(workerKeys(place.keys.tag, root)),
    ...Object.values(workerKeys(place.keys.tag, child.id)),
  ])
  const found = await place.redis.keys(`${place.keys.tag.replace(/[{}]/g, '?')}*`)
  expect(found.filter((key) => !known.has(key) && !key.includes(':idem:'))).toEqual([])
  expect(found.length).toBeGreaterThan(18)
})

test('ids of wake-ups differ by call, pool and number, and are read back from an answer', () => {
  expect(parseWakeups('')).toEqual([])
  expect(parseWakeups(undefined)).toEqual([])
  const seeds = Array.from({ length: 1_000 }, () => newSeed())
  expect(new Set(seeds).size).toBe(1_000)
  for (const pool of ['default', 'a-b_c', 'gpu-2']) {
    const wakeup = { id: `w${seeds[0]}-${pool}-1`, pool }
    expect(parseWakeups(`${wakeup.id},wx-${pool}-12`)).toEqual([wakeup, { id: `wx-${pool}-12`, pool }])
    const second = { id: `${wakeup.id.slice(0, -1)}2`, pool }
    expect(parseWakeups(`2*${wakeup.id.slice(0, -2)},wx-${pool}-1`)).toEqual([
      wakeup,
      second,
      { id: `wx-${pool}-1`, pool },
    ])
  }
})
