/** Last words, and the workers that a dying node releases. */
import { expect, test } from 'vitest'
import { newId } from '../../../src/core/ids.ts'
import { releaseTurns } from '../../../src/store/turn/release-turns.ts'
import { Place } from '../support/place.ts'
import * as checks from '../support/turn/release-checks.ts'

test.each(Object.entries(checks))('%s', async (_name, check) => {
  await using place = await Place.open()
  await check(place)
  expect(await place.redis.exists(place.keys.nodes)).toBeLessThanOrEqual(1)
})

test('the turns of a node are released by hundreds: also the last of very many is, and one script takes 200', async () => {
  await using place = await Place.open()
  const { root } = await place.create()
  const turn = await place.node().claim()
  const others = Array.from({ length: 400 }, () => ({
    worker: newId(0),
    token: '1:x',
    isCounted: false,
    isIsolated: false,
  }))
  const turns = [...others, { ...(others[0] as (typeof others)[0]), worker: root, token: turn.assignment.token }]
  const before = place.wire.sent
  const order = { node: 'node-a', wakeupMs: 1_000, ends: true, words: '', author: undefined, turns }
  expect(await releaseTurns(place.caller, place.keys, order, 2_000)).toBe(1)
  expect(place.wire.sent).toBe(before + 3)
  expect(await place.record(root)).toMatchObject({ status: 'queued' })
})

test('a dying node leaves the register and says its last words of the worker that is to blame, although it holds no turn', async () => {
  await using place = await Place.open()
  const { root } = await place.create()
  await place.node().sweep({ free: 0 })
  const words = 'node-a threw Error: no'
  const order = { node: 'node-a', wakeupMs: 1_000, ends: true, words, author: root, turns: [] }
  expect(await place.redis.hexists(place.keys.nodes, 'node-a')).toBe(1)
  expect(await releaseTurns(place.caller, place.keys, order, 2_000)).toBe(0)
  expect(await place.redis.hexists(place.keys.nodes, 'node-a')).toBe(0)
  expect(await place.redis.hget(place.workerKeys(root).record, 'lastWords')).toBe(words)
})
