/**
 * Duty: the nodes and kinds of a namespace, as programs see them.
 * REGISTER-1 Nodes register themselves and their kinds in each partition. While the server of the first one is away, another partition tells them.
 */
import { RuntimeError, TransientError } from '../../core/errors.ts'
import type { InspectStore } from '../../store/audit/inspect-store.ts'
import { withDeadline } from '../../store/redis/redis.ts'
import type { NodesQuery } from '../queries.ts'
import type { KindSummary, NodeSummary } from '../summaries.ts'
import { hostsByKind, type NodesBySight, nodeSummaries, takesWork } from './node-summaries.ts'

/** If the first partition does not answer for this long, the others are asked as well. */
const patienceMs = 1_000

export class Register {
  readonly #stores: readonly InspectStore[]
  readonly #isCluster: boolean

  constructor(stores: readonly InspectStore[], isCluster: boolean) {
    this.#stores = stores
    this.#isCluster = isCluster
  }

  bySight(): Promise<NodesBySight> {
    return this.#read(nodeSummaries)
  }

  async nodes(query: NodesQuery): Promise<NodeSummary[]> {
    const { live, stalled } = await this.bySight()
    return query.stalled ? [...live, ...stalled.map((node) => ({ ...node, stalled: true as const }))] : live
  }

  async kinds(): Promise<KindSummary[]> {
    const [kinds, { live }] = await Promise.all([this.#read((store) => store.kinds()), this.bySight()])
    const hosts = hostsByKind(live.filter(takesWork))
    return kinds
      .map((kind) => {
        const nodes = hosts.get(kind.kind) ?? 0
        return { ...kind, nodes, hosted: nodes > 0 }
      })
      .sort((a, b) => (a.kind < b.kind ? -1 : 1))
  }

  /** If no partition answers, it throws the error of the first. */
  async #read<Found>(read: (store: InspectStore) => Promise<Found>): Promise<Found> {
    const [first, ...others] = this.#stores as readonly [InspectStore, ...InspectStore[]]
    const found = read(first)
    // On a single Redis all partitions are away at the same time.
    if (!this.#isCluster || others.length === 0) return found
    try {
      return await withDeadline(found, patienceMs)
    } catch (error) {
      if (error instanceof RuntimeError && !(error instanceof TransientError)) throw error
    }
    return Promise.any([found, ...others.map(read)]).catch(() => found)
  }
}
