/** Children that wait to start because their parent's kind says how many of them run at once. */
import { expect, test } from 'vitest'
import { Place } from '../support/place.ts'
import * as checks from '../support/queue/start-checks.ts'

test.each([
  ['a message to a child that waits to start does not start it', checks.noMessageStartsAChild],
  ['a child that is cancelled while it runs makes room for the next one', checks.aChildCancelledWhileItRunsMakesRoom],
  ['children beyond those that run at once wait to start, in order', checks.childrenBeyondThoseAtOnceWait],
])('%s', async (_, check) => {
  await using place = await Place.open()
  await expect(check(place)).resolves.toBeUndefined()
})

test('a worker whose kind does not say how many children run at once has no such field, and no list', async () => {
  await using place = await Place.open()
  const { root } = await place.create()
  const turn = await place.node().claim()
  await turn.park('results:1', { spawns: [place.child(root, 1, 'child')], pendingCalls: [1] })
  expect(await place.redis.hexists(place.workerKeys(root).record, 'atOnce')).toBe(0)
  expect(await place.redis.exists(place.workerKeys(root).waiting)).toBe(0)
})

test('an overwritten number of children does not stop any child from reporting', async () => {
  await using place = await Place.open()
  const { root } = await place.create()
  const node = place.node({ slots: 8 })
  const turn = await node.claim()
  const spawns = [1, 2].map((call) => place.child(root, call, `c${call}`))
  await turn.park('results:2', { spawns, pendingCalls: [1, 2], childrenAtOnce: 1 })
  await place.redis.hset(place.workerKeys(root).record, 'atOnce', 'many')
  const child = await node.claim({ slot: '1' })
  const result = `r\t${child.worker}\t1\tcompleted\t{"name":"c","kind":"echo","value":1}`
  expect(await child.complete({ result })).toMatchObject({ kind: 'ok' })
  expect(await place.redis.llen(place.workerKeys(root).results)).toBe(1)
})
