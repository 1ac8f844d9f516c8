/** The last order of a node, in every partition: which turns it holds, and which of them are given to others. */
import { expect, test } from 'vitest'
import { openRedis } from '../../src/store/redis/redis.ts'
import { heldTurns, release } from '../../src/watchdog/release.ts'
import { Place } from '../store/support/place.ts'

/** What the thread knows of a node-a in so many partitions. */
function settingsOf({ namespace }: Place, partitions: number) {
  const shared = new Int32Array(new SharedArrayBuffer(16))
  shared[3] = partitions
  return { namespace, shared, nodeId: 'node-a', wakeupMs: 1_000 }
}

/** A partition with a worker whose turn node-a holds. */
async function claimed(place: Place) {
  const { root } = await place.create()
  return { root, turn: await place.node().claim() }
}

const order = { ends: true, words: 'node-a ended', authors: [] }

test('a node holds the turns that its claims name, in every partition, and none that another node has taken since', async () => {
  await using one = await Place.open()
  const two = one.beside(1)
  const [first, second] = [await claimed(one), await claimed(two)]
  const other = await one.create({ label: 'other' })
  await one.node({ id: 'node-b' }).claim()
  await one.redis.hset(one.keys.claims('node-a'), '7', `old.n ${other.root} run`, '8', 'only-a-nonce')
  const settings = settingsOf(one, 2)
  const held = await heldTurns(() => one.redis, settings)
  expect(held).toMatchObject([
    { partition: 0, workerId: first.root, kind: 'echo', token: first.turn.assignment.token, isIsolated: false },
    { partition: 1, workerId: second.root },
  ])
  await first.turn.complete()
  expect(await heldTurns(() => one.redis, settings)).toMatchObject([{ workerId: second.root }])
})

test('a node that dies gives its turns to others in every partition, although one of them does not answer', async () => {
  await using one = await Place.open()
  const two = one.beside(1)
  const [first, second] = [await claimed(one), await claimed(two)]
  const settings = settingsOf(one, 2)
  const turns = await heldTurns(() => one.redis, settings)
  const away = openRedis('redis://127.0.0.1:1')
  away.disconnect()
  await release((tag) => (tag === one.keys.tag ? away : one.redis), settings, { ...order, turns }, 1_000)
  expect(await one.record(first.root)).toMatchObject({ status: 'running' })
  expect(await two.record(second.root)).toMatchObject({ status: 'queued', lastWords: 'node-a ended' })
})
