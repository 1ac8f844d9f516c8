/** Duty: `troupe.partitions`: the partitions of the namespace, where each is and who works in it; and more of them. */
import { TransientError } from '../../core/errors.ts'
import type { InspectStore } from '../../store/audit/inspect-store.ts'
import type { OpenPlace, Places } from '../../store/places.ts'
import { nameOf } from '../../store/redis/cluster-map.ts'
import type { Connections } from '../../store/redis/connections.ts'
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

  /** All partitions, by number. One whose server is away is listed like the others. */
  list = async (): Promise<PartitionSummary[]> => {
    const { connections, places, look, deadlineMs } = this.#o
    await look.learn()
    const ranges = await guarded('asking who has the slots', () => connections.ranges(), deadlineMs)
    return Promise.all(
      places.all.map(async (place) => {
        const slot = ranges === null ? null : slotOf(place.keys.tag)
        const range = ranges?.find(({ from, to }) => slot !== null && slot >= from && slot <= to)
        const server = range === undefined ? null : nameOf(range)
        return { partition: place.partition, ...(await this.#counts(place)), slot, server }
      }),
    )
  }

  async #counts({ partition }: OpenPlace): Promise<Pick<PartitionSummary, 'sessions' | 'nodes'>> {
    const store = this.#o.stores[partition] as InspectStore
    try {
      const [sessions, { live }] = await Promise.all([store.sessionCount(), store.nodesBySight()])
      return { sessions, nodes: live.length }
    } catch (error) {
      if (this.#o.connections.isCluster && error instanceof TransientError) return { sessions: null, nodes: null }
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
