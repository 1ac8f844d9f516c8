/** Duty: `troupe.partitions`: the partitions of the namespace, where each is and who works in it; and more of them. */
import type { InspectStore } from '../../store/audit/inspect-store.ts'
import type { Places } from '../../store/places.ts'
import type { Connections } from '../../store/redis/connections.ts'
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

  /** All partitions, by number. */
  list = async (): Promise<PartitionSummary[]> => {
    const { connections, places, look, stores } = this.#o
    const { isCluster } = connections
    await look.learn()
    return Promise.all(
      places.all.map(async ({ partition, keys, redis }) => {
        const store = stores[partition] as InspectStore
        const [sessions, { live }] = await Promise.all([store.sessionCount(), store.nodesBySight()])
        const { remoteAddress, remotePort } = redis.stream
        return {
          partition,
          sessions,
          nodes: live.length,
          slot: isCluster ? slotOf(keys.tag) : null,
          server: isCluster ? `${remoteAddress}:${remotePort}` : null,
        }
      }),
    )
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
