/** Duty: `troupe.partitions`: the partitions of the namespace, where each is and who works in it; and more of them. */
import type { InspectStore } from '../store/audit/inspect-store.ts'
import type { OpenPlace } from '../store/places.ts'
import type { Connections } from '../store/redis/connections.ts'
import { slotOf } from '../store/redis/slot.ts'
import { raisePartitions } from '../store/set-up/raise.ts'
import type { PartitionSummary } from './summaries.ts'

export class Partitions {
  readonly #connections: Connections
  readonly #namespace: string
  readonly #places: readonly OpenPlace[]
  readonly #stores: readonly InspectStore[]
  readonly #deadlineMs: number

  constructor(
    connections: Connections,
    namespace: string,
    places: readonly OpenPlace[],
    stores: readonly InspectStore[],
    deadlineMs: number,
  ) {
    this.#connections = connections
    this.#namespace = namespace
    this.#places = places
    this.#stores = stores
    this.#deadlineMs = deadlineMs
  }

  /** The partitions that this client knows, by number. */
  list = async (): Promise<PartitionSummary[]> => {
    const { isCluster } = this.#connections
    return Promise.all(
      this.#places.map(async ({ partition, keys, redis }) => {
        const store = this.#stores[partition] as InspectStore
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
   * Raises the number of partitions. Sessions stay where they are; those that are created from then on go to all partitions. Nodes and clients
   * work in the new ones once they have started again, this client too. Resolves with the former number.
   */
  raise = (to: number): Promise<number> => {
    return raisePartitions(this.#connections, this.#namespace, to, this.#deadlineMs)
  }
}
