/**
 * Duty: read how a namespace stands, in numbers that are cheap to read: for metrics, which are read every few seconds.
 * NAMESPACE-1 The cost grows with nodes, pools and kinds alone, never with sessions, workers or messages.
 */
import { unhostedPool } from '../../core/ids.ts'
import { type AskSort, askSorts } from '../../core/worker/ask/ask.ts'
import type { InspectStore } from '../../store/audit/inspect-store.ts'
import type { Connections } from '../../store/redis/connections.ts'
import { guarded } from '../../store/redis/guarded.ts'
import { readMemory } from '../../store/redis/server-facts.ts'

export interface NamespaceFacts {
  readonly pools: readonly {
    readonly pool: string
    readonly waiting: number
    readonly oldestMs: number
    readonly nodes: number
  }[]
  /** Waiting workers by kind, for kinds that no live node hosts; among the first 100 workers of each pool. */
  readonly unhosted: readonly { readonly kind: string; readonly workers: number }[]
  readonly running: number
  readonly expiredLeases: number
  readonly timers: number
  readonly stalledNodes: number
  readonly slots: number
  readonly deadLetters: number
  readonly asks: readonly { readonly sort: AskSort; readonly waiting: number; readonly oldestMs: number }[]
  readonly isPaused: boolean
  readonly audit: { readonly unaccounted: number; readonly findings: number; readonly agoMs: number } | null
  /** The sums over all servers of a cluster; `fullest`: the part of its limit that the fullest server uses; 0 if no server has a limit. */
  readonly redis: { readonly usedBytes: number; readonly maxBytes: number; readonly fullest: number }
}

const firstOfPool = 100
const oldestAsks = 500

export async function namespaceFacts(
  stores: readonly InspectStore[],
  connections: Pick<Connections, 'each'>,
  deadlineMs: number,
): Promise<NamespaceFacts> {
  const first = stores[0] as InspectStore
  const { now, live, stalled } = await first.nodesBySight()
  const known = (await Promise.all(stores.map((store) => store.poolsEverKnown()))).flat()
  const names = [...new Set([...live.flatMap(({ pools }) => pools), ...known, unhostedPool])].sort()
  const facts = await Promise.all(stores.map((store) => store.queueFacts(names)))
  const sum = (of: (fact: (typeof facts)[number]) => number) => facts.reduce((total, fact) => total + of(fact), 0)
  const oldest = (times: readonly number[]) => (times.length === 0 ? 0 : Math.max(0, now - Math.min(...times)))
  const asks = (await Promise.all(stores.map((store) => store.oldestAsks(oldestAsks)))).flat()
  const reading = () => connections.each(readMemory)
  const memories = await guarded('reading how full Redis is', reading, deadlineMs)
  const audit = await first.lastAudit()
  return {
    pools: names.map((pool, index) => {
      const of = facts.flatMap((fact) => fact.pools[index] ?? [])
      return {
        pool,
        waiting: of.reduce((total, fact) => total + fact.queued, 0),
        oldestMs: oldest(of.flatMap((fact) => fact.oldest?.since ?? [])),
        nodes: live.filter((node) => node.pools.includes(pool)).length,
      }
    }),
    unhosted: await unhostedOf(stores, names, new Set(live.flatMap(({ kinds }) => kinds))),
    running: sum((fact) => fact.running),
    expiredLeases: sum((fact) => fact.expiredLeases),
    timers: sum((fact) => fact.timers),
    stalledNodes: stalled.length,
    slots: live.reduce((total, { slots }) => total + slots, 0),
    deadLetters: sum((fact) => fact.dead - fact.settled),
    asks: askSorts.map((sort) => {
      const of = asks.filter((ask) => ask.sort === sort)
      return { sort, waiting: of.length, oldestMs: oldest(of.map(({ askedAt }) => askedAt)) }
    }),
    isPaused: (await Promise.all(stores.map((store) => store.pauseNote()))).some((note) => note !== null),
    audit: audit && { unaccounted: audit.unaccounted, findings: audit.findings, agoMs: Math.max(0, now - audit.at) },
    redis: {
      usedBytes: memories.reduce((total, { usedBytes }) => total + usedBytes, 0),
      maxBytes: memories.reduce((total, { maxBytes }) => total + maxBytes, 0),
      fullest: Math.max(0, ...memories.map(({ usedBytes, maxBytes }) => (maxBytes === 0 ? 0 : usedBytes / maxBytes))),
    },
  }
}

async function unhostedOf(
  stores: readonly InspectStore[],
  pools: readonly string[],
  hosted: ReadonlySet<string>,
): Promise<NamespaceFacts['unhosted']> {
  const read = pools.flatMap((pool) => stores.map((store) => store.queuedKinds(pool, firstOfPool)))
  const waiting = (await Promise.all(read)).flat().filter(({ kind }) => !hosted.has(kind))
  const byKind = Map.groupBy(waiting, ({ kind }) => kind)
  return [...byKind].map(([kind, workers]) => ({ kind, workers: workers.length }))
}
