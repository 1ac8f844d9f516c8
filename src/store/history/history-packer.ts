/**
 * Duty: pack histories that have rested for long, a batch at a time (decision 0042).
 * HISTORY-PACKER-1 It holds no state that matters: a node that dies between two calls leaves each history whole, and the walk goes on from where all
 *     before was packed.
 * HISTORY-PACKER-2 An entry that is written during packing comes behind the packed ones. A pack that somebody else made is not made again.
 */
import type { Buffer } from 'node:buffer'
import type { Policy } from '../../core/policy.ts'
import { type PartitionKeys, workerKeys } from '../keys.ts'
import { guarded } from '../redis/guarded.ts'
import type { Redis } from '../redis/redis.ts'
import type { ScriptCaller } from '../script/script.ts'
import { coldScript, packScript } from '../script/scripts.ts'
import { headOf, packed, placeholderOf, unpacked } from './pack.ts'

export interface HistoryPackerOptions {
  readonly redis: Redis
  readonly caller: ScriptCaller
  readonly keys: PartitionKeys
  readonly nodeId: string
  readonly policy: Policy
}

/** A history with entries that are not packed yet. */
interface ColdHistory {
  readonly id: string
  /** The position of the pack that takes more entries; without such a pack the same as `first`. */
  readonly start: number
  /** The first entry that is not packed. */
  readonly first: number
  readonly length: number
}

/** A pack stands for about so many bytes of text: reading one entry of it costs as much. */
const packBytes = 131_072
const packEntriesMost = 500
/** A pack of fewer bytes takes the next entries, too. */
const growsTo = packBytes / 2
/** Nobody knows how large the first entries are. */
const entriesFirst = 16
const historiesAtOnce = 8
/** Walks are about a tenth of the time, however many sessions there are. But the next one begins after so many times `coldEveryMs` at the latest. */
const restTimes = 10
const restMost = 60

export class HistoryPacker {
  readonly #o: HistoryPackerOptions
  /** The point up to which the walk is done, in the form of the store. Empty: the store knows it. */
  #done = ''
  /** The point where the walk goes on when no history waits; empty: the walk is over. */
  #next = ''
  /** Histories that the walk has found and that are not packed yet. */
  #waiting: ColdHistory[] = []
  /** How long this walk has taken. */
  #spentMs = 0

  constructor(options: HistoryPackerOptions) {
    this.#o = options
  }

  /** A part of the walk, of about `packMs` at most: a sweep waits for it. `done`: the walk is over, or another node makes it. */
  async packSome(): Promise<{ readonly packed: number; readonly done: boolean }> {
    const began = performance.now()
    if (this.#waiting.length === 0) await this.#find()
    let count = 0
    const pack = async () => {
      for (let one = this.#waiting.shift(); one !== undefined; one = this.#waiting.shift()) {
        if (await this.#pack(one, began + this.#o.policy.packMs)) count++
        if (performance.now() - began >= this.#o.policy.packMs) return
      }
    }
    try {
      await Promise.all(Array.from({ length: historiesAtOnce }, pack))
    } catch (error) {
      // Nobody packs what failed, unless it is found again.
      this.#waiting = []
      throw error
    }
    const isDone = this.#waiting.length === 0
    if (isDone) this.#done = this.#next
    this.#spentMs = isDone && this.#next === '' ? 0 : this.#spentMs + performance.now() - began
    return { packed: count, done: isDone && this.#next === '' }
  }

  async #find(): Promise<void> {
    const { caller, keys, nodeId, policy } = this.#o
    const [next, found] = (await caller.call(
      coldScript,
      { ends: keys.ends, meta: keys.meta },
      {
        node: nodeId,
        done: this.#done,
        coldMs: policy.coldAfterMs,
        everyMs: policy.coldEveryMs,
        restMs: Math.round(Math.min(restTimes * this.#spentMs, restMost * policy.coldEveryMs)),
        batch: policy.sweepBatch,
        growsTo,
      },
      { deadlineMs: policy.leaseMs },
    )) as [string, [id: string, start: string, first: string, length: string][]]
    this.#next = next
    this.#waiting = found.map(([id, start, first, length]) => ({
      id,
      start: Number(start),
      first: Number(first),
      length: Number(length),
    }))
  }

  /** Returns whether any entry was packed. If entries are left when the time is over, the rest of the history waits. */
  async #pack({ id, start, first, length }: ColdHistory, until: number): Promise<boolean> {
    let isAny = false
    let before = start < first ? await this.#packAt(id, start) : []
    if (before === null) return false
    for (let [from, next] = [start, first]; next < length; ) {
      const more = await this.#entries(id, next, length)
      if (more.length === 0 || before.length + more.length < 2) break
      if (!(await this.#write(id, from, before, more))) break
      isAny = true
      next += more.length
      from = next
      before = []
      if (next < length && performance.now() >= until) {
        this.#waiting.push({ id, start: next, first: next, length })
        break
      }
    }
    return isAny
  }

  async #packAt(id: string, position: number): Promise<Buffer[] | null> {
    const { redis, policy } = this.#o
    const element = await guarded('reading a pack', () => redis.lindexBuffer(this.#log(id), position), policy.leaseMs)
    return element === null || headOf(element) === null ? null : unpacked(element)
  }

  /** As many entries as one pack stands for. */
  async #entries(id: string, from: number, length: number): Promise<Buffer[]> {
    const { redis, policy } = this.#o
    const entries: Buffer[] = []
    let bytes = 0
    for (let most = entriesFirst; entries.length < packEntriesMost && (bytes < packBytes || entries.length < 2); ) {
      const at = from + entries.length
      const to = Math.min(length, at + most, from + packEntriesMost) - 1
      const read = () => redis.lrangeBuffer(this.#log(id), at, to)
      const page = to < at ? [] : await guarded('reading a history to pack it', read, policy.leaseMs)
      if (page.length === 0) break
      for (const entry of page) {
        if (bytes >= packBytes && entries.length > 1) return entries
        entries.push(entry)
        bytes += entry.length
      }
      const average = bytes / entries.length
      most = Math.max(1, Math.floor((packBytes - bytes) / average))
    }
    return entries
  }

  /** False if there is nothing to gain, or somebody else has written there. */
  async #write(id: string, from: number, before: readonly Buffer[], more: readonly Buffer[]): Promise<boolean> {
    const entries = [...before, ...more]
    const pack = await packed(entries)
    if (pack === null) return false
    const { caller, keys, policy } = this.#o
    const [answer] = await caller.call(
      packScript,
      { record: workerKeys(keys.tag, id).record, log: this.#log(id) },
      {
        from,
        packed: before.length,
        entries: entries.length,
        pack,
        newest: placeholderOf(entries.length - 1, entries.at(-1)),
      },
      { deadlineMs: policy.leaseMs },
    )
    return answer === 'packed'
  }

  #log(id: string): string {
    return workerKeys(this.#o.keys.tag, id).log
  }
}
