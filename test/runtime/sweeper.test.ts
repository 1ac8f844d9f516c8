/** Sweeps: does each do all there is to do, and come when it is due? The store and its Redis are real, the node around it is not. */
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { UpkeepStore } from '../../src/core/ports.ts'
import { Sweeper, type SweeperHost } from '../../src/runtime/sweeper.ts'
import { Place } from '../store/support/place.ts'
import { waitUntil } from '../support/wait-until.ts'

function sweeperOf(store: UpkeepStore, place: Place, more: Partial<SweeperHost> = {}): Sweeper {
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const nothing = { answer() {}, ring() {}, learnKinds() {}, register: () => Promise.resolve() }
  return new Sweeper(store, place.policy, { log, slots: 1, shares: () => [], ...nothing, ...more })
}

type Sweep = UpkeepStore['sweep']

/** The same store, with something around each sweep. */
function sweepingBy(store: UpkeepStore, around: (sweep: () => ReturnType<Sweep>) => ReturnType<Sweep>): UpkeepStore {
  return {
    partition: store.partition,
    registerKinds: (kinds) => store.registerKinds(kinds),
    sweep: (...args) => around(() => store.sweep(...args)),
    fire: () => store.fire(),
    finishCancelled: () => store.finishCancelled(),
    prune: () => store.prune(),
    kindPools: () => store.kindPools(),
  }
}

describe('a sweep', () => {
  test('removes all old sessions that there are, batch by batch, and registers kinds when it is through', async () => {
    await using place = await Place.open({
      policy: { sweepBatch: 2, retentionMs: 0, pruneEveryMs: -1, pruneMs: 60_000 },
    })
    const node = place.node()
    for (let number = 0; number < 7; number++) {
      await place.create({ label: `old ${number}` })
      await (await node.claim()).complete()
    }
    let registered = 0
    const register = () => {
      registered++
      return Promise.resolve()
    }
    await sweeperOf(node.upkeep, place, { register }).runOnce()
    expect(await place.redis.zcard(place.keys.sessions)).toBe(0)
    expect(registered).toBe(1)
  })
})

describe('a sweep that becomes due while another runs', () => {
  test('comes after it', async () => {
    await using place = await Place.open({ policy: { sweepEveryMs: 100 } })
    let begun = 0
    const mayEnd = Promise.withResolvers<void>()
    const held = sweepingBy(place.node().upkeep, async (sweep) => {
      // The first is that of the start.
      if (++begun === 2) await mayEnd.promise
      return sweep()
    })
    let isDue = false
    const sweeper = sweeperOf(held, place)
    await sweeper.start()
    await waitUntil('a sweep is under way', () => begun === 2)
    sweeper.dueIn(0)
    // Timers fire in the order of their time: this one after the sweep that is due.
    setTimeout(() => {
      isDue = true
    }, 20)
    await waitUntil('the next one is due', () => isDue)
    expect(begun).toBe(2)
    mayEnd.resolve()
    await waitUntil('it is made', () => begun > 2)
    await sweeper.stop()
  })
})

describe('a timer that is due in a month', () => {
  const warnings: Error[] = []
  const keep = (warning: Error) => void warnings.push(warning)
  beforeEach(() => void process.on('warning', keep))
  afterEach(() => void process.off('warning', keep))

  test('does not make sweeps come before their time', async () => {
    await using place = await Place.open({ policy: { sweepEveryMs: 50 } })
    const node = place.node()
    const { root } = await place.create()
    const turn = await node.claim()
    const month = 30 * 24 * 3_600_000
    await turn.commit({ userUsed: 1, open: true, timersOpen: 1, timers: [{ id: 't', ms: month, valueJson: '1' }] })
    expect(await place.redis.zscore(place.keys.timers, `${root}:t`)).not.toBeNull()
    let [sweeps, atOnce, most] = [0, 0, 0]
    const counting = sweepingBy(node.upkeep, (sweep) => {
      sweeps++
      most = Math.max(most, ++atOnce)
      return sweep().finally(() => atOnce--)
    })
    const sweeper = sweeperOf(counting, place)
    await sweeper.start()
    await waitUntil('some sweeps were made', () => sweeps > 5)
    await sweeper.stop()
    expect([most, warnings]).toEqual([1, []])
  })
})
