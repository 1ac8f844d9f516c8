/**
 * Duty: `troupe.pools`: how much work each pool has, and how many nodes that work needs.
 * POOLS-1 A list costs the same however many workers wait. An autoscaler may ask for it every few seconds.
 */
import { checkOptions } from '../../core/check/check-options.ts'
import { InputError } from '../../core/errors.ts'
import { policy } from '../../core/policy.ts'
import { type PoolStore, type PoolWork, sumOf } from '../../store/pool-store.ts'
import { type PoolsQuery, poolsRules } from '../queries.ts'
import type { NodeSummary, PoolSummary } from '../summaries.ts'
import { ofEach } from './each-partition.ts'
import { takesWork } from './node-summaries.ts'

/** A timer that is due within this time needs a node by then. */
const dueMs = 60_000

export class Pools {
  readonly #stores: readonly PoolStore[]
  readonly #nodes: () => Promise<NodeSummary[]>

  constructor(stores: readonly PoolStore[], nodes: () => Promise<NodeSummary[]>) {
    this.#stores = stores
    this.#nodes = nodes
  }

  /** The work of one pool. A pool that nobody knows has no work. */
  get = async (name: string): Promise<PoolSummary> => {
    const found = (await this.list()).find(({ pool }) => pool === name)
    return found ?? summaryOf(sumOf(name, []), [])
  }

  /** Every pool that ever had a node or a queued worker, by name. */
  list = async (query: PoolsQuery = {}): Promise<PoolSummary[]> => {
    checkOptions('pools.list', query, poolsRules, InputError)
    const [nodes, work] = await Promise.all([
      this.#nodes(),
      ofEach(this.#stores, (store) => store.work(dueMs), query.onAway),
    ])
    const byPool = Map.groupBy(work.flat(), ({ pool }) => pool)
    const names = new Set([...byPool.keys(), ...nodes.flatMap(({ pools }) => pools)])
    return [...names].sort().map((pool) => summaryOf(sumOf(pool, byPool.get(pool) ?? []), nodes))
  }
}

function summaryOf({ pool, waiting, oldestMs, due, busy }: PoolWork, nodes: readonly NodeSummary[]): PoolSummary {
  const own = nodes.filter(({ pools }) => pools.includes(pool))
  const taking = own.filter(takesWork)
  return {
    pool,
    waiting,
    oldestMs,
    due,
    busy,
    nodes: taking.length,
    slots: slotsOf(taking),
    expectedNodes: nodesFor(waiting + due + busy, own.length === 0 ? policy.slots : slotsOf(own) / own.length),
  }
}

function slotsOf(nodes: readonly NodeSummary[]): number {
  return nodes.reduce((sum, { slots }) => sum + slots, 0)
}

/** How many nodes are needed so that each turn has a slot. A node that is drained has no slots. */
function nodesFor(turns: number, slotsOfNode: number): number {
  return Math.ceil(turns / Math.max(1, slotsOfNode))
}
