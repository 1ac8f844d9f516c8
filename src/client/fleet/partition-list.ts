/** Duty: `troupe.partitions`: the partitions of the namespace, where each is and who works in it; and more of them. */
import { TransientError } from '../../core/errors.ts'
import type { InspectStore } from '../../store/audit/inspect-store.ts'
import type { OpenPlace, Places } from '../../store/places.ts'
import type { Connections } from '../../store/redis/connections.ts'
import { nameOf, type Range } from '../../store/redis/connector/cluster-map.ts'
import { guarded } from '../../store/redis/guarded.ts'
import { slotOf } from '../../store/redis/slot.ts'
import { raisePartitions } from '../../store/set-up/raise.ts'
import type { PartitionSummary } from '../summaries.ts'
import type { PartitionLook } from './partitions.ts'

interface PartitionsContext {
  readonly connections: Connections
  readonly namespace: string
  readonly places: Places
  readonly look: PartitionLook
  readonly stores: readonly InspectStore[]
  readonly deadlineMs: number
}

export class Partitions {
  readonly #o: PartitionsContext

  constructor(context: PartitionsContext) {
    this.#o = context
  }

  /** All partitions, by number. One whose server is away is listed like the others. While the first one is, new partitions are not known yet. */
  list = async (): Promise<PartitionSummary[]> => {
    const { connections, places, look, deadlineMs } = this.#o
    const ranges = await guarded('asking who has the slots', () => connections.ranges(), deadlineMs)
    const rowsFrom = (from: number) => Promise.all(places.all.slice(from).map((place) => this.#row(place, ranges)))
    const known = places.all.length
    // At the same time: each of them may have to wait for a server that is away.
    const learning = this.#unlessAway(look.learn(), undefined)
    const [rows] = await Promise.all([rowsFrom(0), learning])
    return [...rows, ...(await rowsFrom(known))]
  }

  async #row(place: OpenPlace, ranges: readonly Range[] | null): Promise<PartitionSummary> {
    const slot = ranges === null ? null : slotOf(place.keys.tag)
    const range = ranges?.find(({ from, to }) => slot !== null && slot >= from && slot <= to)
    const server = range === undefined ? null : nameOf(range)
    const counts = await this.#unlessAway(this.#counts(place), { sessions: null, nodes: null })
    return { partition: place.partition, ...counts, slot, server }
  }

  async #counts({ partition }: OpenPlace): Promise<Pick<PartitionSummary, 'sessions' | 'nodes'>> {
    const store = this.#o.stores[partition] as InspectStore
    const [sessions, { live }] = await Promise.all([store.sessionCount(), store.nodesBySight()])
    return { sessions, nodes: live.length }
  }

  /** In a cluster one server may be away alone. */
  async #unlessAway<Found>(asking: Promise<Found>, whenAway: Found): Promise<Found> {
    try {
      return await asking
    } catch (error) {
      if (this.#o.connections.isCluster && error instanceof TransientError) return whenAway
      throw error
    }
  }

  /**
   * Raises the number of partitions. Sessions stay where they are; those that are created from then on go to all partitions. Nodes and
   * clients that run learn of it within seconds, this client at once. Resolves with the former number.
   */
  raise = async (to: number): Promise<number> => {
    const { connections, namespace, look, deadlineMs } = this.#o
    const from = await raisePartitions(connections, namespace, to, deadlineMs)
    await look.learn()
    return from
  }
}
