/** A sweeper on a real store and its Redis; the node around it does nothing. */
import type { UpkeepStore } from '../../../src/core/ports/upkeep.ts'
import { Sweeper, type SweeperHost } from '../../../src/runtime/upkeep/sweeper.ts'
import type { Place } from '../../store/support/place.ts'

export function sweeperOf(store: UpkeepStore, place: Place, more: Partial<SweeperHost> = {}): Sweeper {
  const log = { debug() {}, info() {}, warn() {}, error() {} }
  const nothing = {
    answer() {},
    wake() {},
    carry() {},
    wakeIn() {},
    openGates() {},
    turnsLeft: () => null,
    learnPause() {},
    learnKinds() {},
    noteHealed() {},
    tell: () => Promise.resolve(),
    register: () => Promise.resolve(),
  }
  return new Sweeper(store, place.policy, { log, slots: 1, poolLoads: () => [], ...nothing, ...more })
}

export type Sweep = UpkeepStore['sweep']

export const poolLoads = () => [{ pool: 'default', kinds: ['echo'], free: 2, workersPerWake: 0 }]

/** Returns the same store, with something around each sweep. The store says that there is always something to do. */
export function sweepingBy(
  store: UpkeepStore,
  around: (sweep: () => ReturnType<Sweep>) => ReturnType<Sweep>,
): UpkeepStore {
  return {
    partition: store.partition,
    announce: (...args) => store.announce(...args),
    sweep: (...args) => around(() => store.sweep(...args)),
    rest: () => Promise.resolve(null),
    fire: (told) => store.fire(told),
    finishCancelled: () => store.finishCancelled(),
    prune: () => store.prune(),
    pack: () => store.pack(),
    forgetKinds: () => store.forgetKinds(),
    redisProblem: () => store.redisProblem(),
    kindPools: () => store.kindPools(),
  }
}
