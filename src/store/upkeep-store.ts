/**
 * Duty: what a node does about every second for its partition: heal, fire timers, finish cancels, prune, pack.
 * Each call is bounded; the sweeper calls again while there is more.
 * UPKEEP-1 A cancelled agent that no node runs ends with a result for each call. Scripts decode no JSON, so `finish` names such agents, and ends
 *    them in a second call that brings the results for their open calls.
 */

import { InvariantError } from '../core/errors.ts'
import { decodeEntry, type Entry, entryVersion } from '../core/history/entry.ts'
import { lastEntries, type OpenCalls, openCallsIn } from '../core/history/run/open-calls.ts'
import type { Policy } from '../core/policy.ts'
import type { DamagedSession, HostedKind, PoolLoad, Rest, SweepAnswer, UpkeepStore } from '../core/ports/upkeep.ts'
import type { Wakeup } from '../core/ports/wake.ts'
import { HistoryPacker } from './history/history-packer.ts'
import { readEntries } from './history/read-entries.ts'
import { formerKey, gatesKey, type PartitionKeys, rootKey, sessionKeys, workerKeys } from './keys.ts'
import { encodeKindFacts, poolOfKindLine } from './record/register-line.ts'
import { guarded } from './redis/guarded.ts'
import { allFields } from './redis/large-keys.ts'
import type { Redis } from './redis/redis.ts'
import type { ScriptCaller } from './script/script.ts'
import {
  announceScript,
  finishScript,
  fireScript,
  forgetKindsScript,
  pruneScript,
  restScript,
  sweepScript,
} from './script/scripts.ts'
import { nearlyFull, unfit } from './set-up/set-up.ts'
import { type GuestStore, newsOf } from './turn/guest-store.ts'
import { newSeed, parseWakeups } from './wakeups.ts'

export interface UpkeepStoreOptions {
  readonly redis: Redis
  readonly caller: ScriptCaller
  readonly keys: PartitionKeys
  readonly partition: number
  readonly nodeId: string
  /** What doctor shows of the node: kinds, version, host, process id. */
  readonly nodeFacts: Readonly<Record<string, unknown>>
  readonly policy: Policy
  /** Tells of runs whose gates are in another partition. Absent: nobody does. */
  readonly guests?: GuestStore
}

/** An agent whose open calls were looked for when it was at this version, and the entries that answer them. */
interface Answered {
  readonly id: string
  readonly version: string
  readonly entries: readonly string[]
}

/** How many entries of a history are read at once, from its end: few at first, since the newest reply is near it. */
const firstPage = 8
const lastPage = 500

/**
 * How many workers one script ends, and how many sessions it removes: with more of them it would hold Redis for longer than 10 ms (`npm run
 * bench:scripts`).
 */
const finishMost = 25
const pruneMost = 20

/** How many kinds one script forgets: it looks through the queues of each. */
const kindsForgottenAtOnce = 10

export class RedisUpkeepStore implements UpkeepStore {
  readonly partition: number
  readonly #o: UpkeepStoreOptions
  readonly #packer: HistoryPacker

  constructor(options: UpkeepStoreOptions) {
    this.#o = options
    this.#packer = new HistoryPacker(options)
    this.partition = options.partition
  }

  async announce(slots: number, kinds: readonly HostedKind[]): Promise<void> {
    const { keys, nodeId, nodeFacts, policy } = this.#o
    const header = {
      node: nodeId,
      slots,
      hosts: kinds.map(({ kind }) => kind),
      pools: kinds.map(({ pool }) => pool),
      facts: JSON.stringify(nodeFacts),
      texts: kinds.map(encodeKindFacts),
    }
    const { kinds: kindsKey, pools, nodes, leases, meta } = keys
    await this.#o.caller.call(announceScript, { kinds: kindsKey, pools, nodes, leases, meta }, header, {
      deadlineMs: policy.leaseMs,
    })
  }

  async sweep(
    slots: number,
    poolLoads: readonly PoolLoad[],
    leaving: boolean,
    turnsLeft: number | null = null,
  ): Promise<SweepAnswer> {
    const { keys, policy, nodeId, nodeFacts } = this.#o
    const reply = await this.#o.caller.call(
      sweepScript,
      { meta: keys.meta, leases: keys.leases, nodes: keys.nodes, events: keys.events, pools: keys.pools },
      {
        node: nodeId,
        slots,
        facts: JSON.stringify(turnsLeft === null ? nodeFacts : { ...nodeFacts, draining: turnsLeft }),
        leaseMs: policy.leaseMs,
        wakeupMs: policy.wakeupMs,
        batch: policy.sweepBatch,
        forgottenMs: Math.max(policy.nodeForgottenMs, policy.leaseMs * 2),
        everyMs: policy.sweepEveryMs,
        seed: newSeed(),
        leaving,
        eventsKept: policy.eventsKept,
        eventsBytes: policy.eventsBytes,
        pools: poolLoads.map(({ pool, kinds, free, workersPerWake }) => ({
          name: pool,
          kinds: ` ${kinds.join(' ')} `,
          free,
          workersPerWake,
        })),
      },
      { deadlineMs: policy.leaseMs },
    )
    const wakeups = (reply[1] as string[]).map((text) => {
      const [pool, id] = text.split(' ') as [string, string]
      return { pool, id }
    })
    const [healed, , damaged, left, gone, paused, setBackMs, moved, kinds, healer, more] = reply
    return {
      healed: Number(healed),
      wakeups,
      damaged: damaged as string[],
      left: Number(left),
      wasGone: gone === 1,
      isPaused: paused === '1',
      isHealer: healer === 1,
      hasMore: more === 1,
      setBack: Number(setBackMs) > 0 ? { ms: Number(setBackMs), timers: Number(moved) } : null,
      kinds: String(kinds),
    }
  }

  async rest(): Promise<Rest | null> {
    const { keys, policy, nodeId } = this.#o
    const { meta, nodes, pools, timers, leases, cancelling } = keys
    const [answer, dueIn, paused, kinds] = await this.#o.caller.call(
      restScript,
      { meta, nodes, pools, timers, leases, cancelling },
      { node: nodeId },
      { deadlineMs: policy.leaseMs },
    )
    if (answer === 'sweep') return null
    return { dueInMs: dueIn === 'none' ? null : Number(dueIn), isPaused: paused === '1', kinds: String(kinds) }
  }

  async fire(told: readonly string[] = []): ReturnType<UpkeepStore['fire']> {
    const { keys, policy } = this.#o
    const [fired, dueIn, wakeups, notices = '', guests] = await this.#o.caller.call(
      fireScript,
      { timers: keys.timers, events: keys.events, gates: gatesKey(keys.tag) },
      { batch: policy.sweepBatch, seed: newSeed(), wakeupMs: policy.wakeupMs, told: told.join(' ') },
      { deadlineMs: policy.leaseMs },
    )
    const news = newsOf(guests)
    return {
      fired: Number(fired),
      dueInMs: dueIn === 'none' ? null : Number(dueIn),
      wakeups: parseWakeups(wakeups),
      notices: String(notices).split(' ').filter(Boolean),
      follows: news.length === 0 ? undefined : this.#o.guests?.tell(news),
    }
  }

  async finishCancelled(): Promise<{
    finished: number
    damaged: readonly DamagedSession[]
    wakeups: readonly Wakeup[]
  }> {
    const { keys, redis, policy } = this.#o
    const read = () => redis.srandmember(keys.cancelling, policy.sweepBatch)
    const sessionIds = await guarded('reading cancelled sessions', read, policy.leaseMs)
    const damaged: DamagedSession[] = []
    const wakeups: Wakeup[] = []
    let finished = 0
    for (const sessionId of sessionIds) {
      try {
        if (await this.#finish(sessionId, wakeups)) finished++
      } catch (error) {
        // Damage to one session holds up no other.
        if (!(error instanceof InvariantError)) throw error
        damaged.push({ sessionId, error })
      }
    }
    return { finished, damaged, wakeups }
  }

  /**
   * Makes one pass over the workers that are left to end; adds the wake-ups of those that go on. Returns whether the cancel is over; if not, some
   * workers still run.
   */
  async #finish(sessionId: string, wakeups: Wakeup[]): Promise<boolean> {
    const { keys, policy } = this.#o
    const { cancelled, workers } = sessionKeys(keys.tag, sessionId)
    const root = rootKey(keys.tag, sessionId)
    const entry = JSON.stringify({ type: 'cancelled', v: entryVersion, at: Date.now() })
    let next = 'more'
    let agents: Answered[] = []
    while (next === 'more') {
      const reply = await this.#o.caller.call(
        finishScript,
        { root, cancelled, workers, cancelling: keys.cancelling, timers: keys.timers, events: keys.events },
        {
          sessionId,
          batch: Math.min(policy.sweepBatch, finishMost),
          agents: agents.map(({ id, version, entries }) => ({ id, version, entries: entries.length })),
          seed: newSeed(),
          wakeupMs: policy.wakeupMs,
          entry,
          texts: agents.flatMap(({ entries }) => entries),
        },
        { deadlineMs: policy.leaseMs },
      )
      next = String(reply[0])
      wakeups.push(...parseWakeups(reply[2]))
      agents = await Promise.all((reply[1] as [id: string, version: string][]).map((agent) => this.#answer(...agent)))
    }
    return next === 'done'
  }

  /** The entries that end an agent at this version: the results of its open calls. */
  async #answer(id: string, version: string): Promise<Answered> {
    return { id, version, entries: lastEntries(await this.#openCalls(id), Date.now()) }
  }

  /** Reads a history backwards, no further than its newest reply. */
  async #openCalls(workerId: string): Promise<OpenCalls> {
    const { redis, keys, policy } = this.#o
    const { log } = workerKeys(keys.tag, workerId)
    const newest: Entry[] = []
    for (let most = firstPage; ; most = Math.min(most * 2, lastPage)) {
      const read = () => readEntries(redis, log, -newest.length - most, -newest.length - 1)
      const page = await guarded('reading a history', read, policy.leaseMs)
      newest.unshift(...page.map(decodeEntry))
      const found = openCallsIn(newest)
      if (found !== null) return found
      if (page.length < most) return { calls: [], run: 0, epoch: 0 }
    }
  }

  async kindPools(): Promise<ReadonlyMap<string, string>> {
    const { redis, keys, policy } = this.#o
    const lines = await guarded('reading kinds', () => allFields(redis, keys.kinds), policy.leaseMs)
    return new Map(Object.entries(lines).map(([kind, line]) => [kind, poolOfKindLine(line)]))
  }

  async redisProblem(): Promise<string | null> {
    const { redis, policy } = this.#o
    const info = await guarded('looking at Redis', () => redis.info(), policy.leaseMs)
    return unfit(info) ?? nearlyFull(info)
  }

  async prune(): Promise<{ pruned: number; done: boolean }> {
    const { caller, keys, policy, nodeId } = this.#o
    const { pruned, cursor } = await pruneOnce(caller, keys, policy, policy.retentionMs, pruneStart, nodeId)
    return { pruned, done: cursor === null }
  }

  async forgetKinds(): Promise<{ kinds: readonly string[]; pools: readonly string[] }> {
    const { caller, policy } = this.#o
    const { tag, kinds, nodes, pools, meta } = this.#o.keys
    const everyMs = Math.max(0, policy.pruneEveryMs - policy.sweepEveryMs)
    const [goneKinds, gonePools] = (await caller.call(
      forgetKindsScript,
      { kinds, nodes, pools, meta, former: formerKey(tag) },
      { forgottenMs: policy.kindForgottenMs, everyMs, most: kindsForgottenAtOnce },
      { deadlineMs: policy.leaseMs },
    )) as [string[], string[]]
    return { kinds: goneKinds, pools: gonePools }
  }

  pack(): Promise<{ packed: number; done: boolean }> {
    return this.#packer.packSome()
  }
}

/** Where pruning goes on: at the time of an end, behind so many sessions that ended at that time. */
interface PruneCursor {
  readonly from: number
  readonly passed: number
}

export const pruneStart: PruneCursor = { from: 0, passed: 0 }

/** One batch of pruning; `cursor` is null at the end of the index. With a node, it is a batch of the pass that all nodes share, which knows its place. */
export async function pruneOnce(
  caller: ScriptCaller,
  keys: PartitionKeys,
  policy: Policy,
  retentionMs: number,
  cursor: PruneCursor,
  node?: string,
): Promise<{ pruned: number; cursor: PruneCursor | null }> {
  // A node that asks a moment too early would ask again only after as long once more.
  const everyMs = Math.max(0, policy.pruneEveryMs - policy.sweepEveryMs)
  const reply = await caller.call(
    pruneScript,
    { ends: keys.ends, cancelling: keys.cancelling, meta: keys.meta, sessions: keys.sessions },
    { retentionMs, ...cursor, batch: Math.min(policy.sweepBatch, pruneMost), node, everyMs },
    { deadlineMs: policy.leaseMs },
  )
  const [pruned, from, passed] = reply
  return { pruned: Number(pruned), cursor: from === 'done' ? null : { from: Number(from), passed: Number(passed) } }
}
