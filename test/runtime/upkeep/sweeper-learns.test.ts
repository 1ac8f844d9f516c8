/** What a node learns from its sweeps, and what it says of them. The store and its Redis are real, the node around it is not. */
import { expect, test, vi } from 'vitest'
import type { UpkeepStore } from '../../../src/core/ports/upkeep.ts'
import { Place } from '../../store/support/place.ts'
import { waitUntil } from '../../support/time/wait-until.ts'
import { poolLoads, sweeperOf, sweepingBy } from './sweeper-of.ts'

const noLog = { debug() {}, info() {}, warn() {}, error() {} }

test('a notice that was told is reported at once, once, although the node rests', async () => {
  await using place = await Place.open({ policy: { sweepEveryMs: 600_000 } })
  const node = place.node()
  const { upkeep } = node
  await upkeep.announce(1, [])
  const { root } = await place.create()
  await (await node.claim()).complete()
  const notice = `${root}:notify:1-0`
  await place.redis.zadd(place.keys.timers, 0, notice)
  const [fires, rests] = [vi.spyOn(upkeep, 'fire'), vi.spyOn(upkeep, 'rest')]
  const told = Promise.withResolvers<void>()
  const sweeper = sweeperOf(upkeep, place, { poolLoads, tell: () => told.promise })
  await sweeper.start()
  for (let looks = 0; looks < 2; looks++) await sweeper.runOnce()
  expect([await rests.mock.results[0]?.value, fires.mock.calls]).toMatchObject([{ isPaused: false }, [[[]], [[]]]])
  told.resolve()
  await waitUntil('it is told no more', async () => (await place.redis.zscore(place.keys.timers, notice)) === null)
  sweeper.tellOfSlots()
  await waitUntil('it sweeps once more', () => fires.mock.calls.length === 4)
  expect(fires.mock.calls).toEqual([[[]], [[]], [[notice]], [[]]])
  await sweeper.stop()
})

test('a sweep learns whether all sessions are paused', async () => {
  await using place = await Place.open()
  const learnPause = vi.fn<(isPaused: boolean) => void>()
  const sweeper = sweeperOf(place.node().upkeep, place, { learnPause })
  await place.sessions.pauses.pauseAll({ at: 1 })
  await sweeper.runOnce()
  await place.sessions.pauses.pauseAll(null)
  await sweeper.runOnce()
  expect(learnPause.mock.calls).toEqual([[true], [false]])
})

test('a sweep reads kinds again that it could not read', async () => {
  await using place = await Place.open()
  const { upkeep } = place.node()
  await upkeep.announce(1, [{ kind: 'echo', pool: 'default', description: '' }])
  vi.spyOn(upkeep, 'kindPools').mockRejectedValueOnce(new Error('Redis is away'))
  const learnKinds = vi.fn<() => void>()
  const sweeper = sweeperOf(upkeep, place, { learnKinds })
  await expect(sweeper.runOnce()).rejects.toThrow('Redis is away')
  await sweeper.runOnce()
  expect(learnKinds.mock.calls).toEqual([[new Map([['echo', 'default']])]])
})

test('each pass of pruning forgets kinds and pools, and says which, if there are any', async () => {
  await using place = await Place.open({ policy: { pruneEveryMs: -1, pruneMs: 60_000 } })
  const answers = [
    { kinds: ['old'], pools: ['gpu'] },
    { kinds: [], pools: [] },
  ]
  const forgetKinds: UpkeepStore['forgetKinds'] = async () => answers.shift() ?? { kinds: [], pools: [] }
  const store = { ...sweepingBy(place.node().upkeep, (sweep) => sweep()), forgetKinds }
  const told: unknown[] = []
  const sweeper = sweeperOf(store, place, { log: { ...noLog, info: (_, fields) => void told.push(fields) } })
  for (let pass = 0; pass < 2; pass++) await sweeper.runOnce()
  expect(told).toEqual([{ partition: 0, kinds: ['old'], pools: ['gpu'] }])
})

test('a sweep that sees that the clock of Redis was set back says by how much', async () => {
  await using place = await Place.open()
  const setBack = { ms: 5_000, timers: 3 }
  const store = sweepingBy(place.node().upkeep, async (sweep) => ({ ...(await sweep()), wasGone: false, setBack }))
  const told: unknown[] = []
  const sweeper = sweeperOf(store, place, { log: { ...noLog, warn: (_, fields) => void told.push(fields) } })
  await sweeper.runOnce()
  expect(told).toEqual([{ partition: 0, setBackMs: 5_000, timers: 3 }])
})

test('a sweep that finishes a cancel wakes those who go on', async () => {
  await using place = await Place.open()
  const wakeups = [{ pool: 'default', id: 'one' }]
  const finishCancelled: UpkeepStore['finishCancelled'] = async () => ({ finished: 1, damaged: [], wakeups })
  const woken: unknown[] = []
  const store = { ...sweepingBy(place.node().upkeep, (sweep) => sweep()), finishCancelled }
  await sweeperOf(store, place, { wake: (some) => void woken.push(...some) }).runOnce()
  expect(woken).toEqual(wakeups)
})
