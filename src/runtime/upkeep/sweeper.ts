/**
 * Duty: about once a second, in every node: heal, fire timers, finish cancels, prune, pack histories that have rested for long, and wake workers that
 * no wake-up reached. The system therefore goes on, slower, when BullMQ's jobs are lost.
 * SWEEP-1 A sweep adds BullMQ jobs only for the timers that it fires. For workers in the run queue it wakes free slots of its own node.
 * SWEEP-2 A batch is repeated while more is left. Cancels go on in the next sweep, which then follows at once.
 * SWEEP-3 A sweep that fails is logged and repeated later, because Redis may be away for a while.
 * SWEEP-4 If Redis refuses the other work, the sweep still prunes and packs: that makes room in a Redis that is full.
 * SWEEP-5 If a sweep found nothing to do, the next one only asks whether there is something now. While there is nothing, sweeps come ever more
 * rarely: five times `sweepEveryMs` apart at most. Whatever wakes a slot of the node makes the next sweep come at its usual time.
 * SWEEP-6 If nodes sweep at the same moment, one of them finishes cancels, and goes on with those that it has begun. After a cancel notice, each node
 *     looks once.
 * SWEEP-7 When a run ends and somebody waits at a gate for its place, the node opens the gate at once. If that fails, the next sweep does it.
 */

import type { WorkerLog } from '../../core/definition/worker-log.ts'
import { toRuntimeError } from '../../core/errors.ts'
import type { Policy } from '../../core/policy.ts'
import type { PoolLoad, UpkeepStore } from '../../core/ports/upkeep.ts'
import type { GuestsAnswered, Wakeup } from '../../core/ports/wake.ts'
import { workerOfNotice } from '../../core/webhook/notice.ts'

export interface SweeperHost {
  readonly log: WorkerLog
  readonly slots: number
  /** How many turns the node still runs while it drains; null if it does not drain. */
  turnsLeft(): number | null
  poolLoads(): PoolLoad[]
  answer(wakeup: Wakeup): void
  wake(wakeups: readonly Wakeup[]): void
  /** In another partition. */
  wakeIn(partition: number, wakeups: readonly Wakeup[]): void
  /** Has the gates opened, which are in the first partition. */
  openGates(): void
  /** Has mails for other partitions brought, without waiting for it. */
  carry(): void
  /** Learns that all sessions of the partition are paused, or no more. */
  learnPause(isPaused: boolean): void
  /** Tells somebody outside of a notice (core/webhook/notice.ts). Doing it twice must have the effect of once. */
  tell(notice: string): Promise<void>
  /** This sweep took away leases that had ended during a turn. */
  noteHealed(leases: number): void
  learnKinds(pools: ReadonlyMap<string, string>): void
  /** Announces the node again: a Redis that lost its data must not forget what is hosted. */
  register(): Promise<void>
}

/** A node without work sweeps at most this many times more rarely. */
const restMost = 5
/** After this many usual times of a sweep, a node sweeps whatever there is to do: it counts slots, and forgets nodes. */
const fullEvery = 30

/** Notices that cannot be told for the same reason are logged once within this time: thousands may wait, and each is tried again and again. */
const untoldEveryMs = 60_000
const untoldMost = 100

export class Sweeper {
  readonly #store: UpkeepStore
  readonly #policy: Policy
  readonly #host: SweeperHost
  #timer: NodeJS.Timeout | undefined
  #nextAt = 0
  #prunedAt = performance.now()
  #packedAt = this.#prunedAt
  #running: Promise<void> | undefined
  /** What is being told to other partitions. */
  #following: Promise<void> | undefined
  /** Whether gates are being opened (SWEEP-7); `again`: somebody asked for it in the meantime. */
  #opening: 'no' | 'now' | 'again' = 'no'
  #stopped = false
  /** Notices that this node has told, which the next sweep reports to Redis. */
  #told: string[] = []
  /** Why notices could not be told, and when each reason was logged last. */
  readonly #untold = new Map<string, number>()
  #failing = false
  #problem: string | null = null
  /** True if there may be cancels that can be finished at once. */
  #finishesMore = false
  /** The workers and sessions that are known to be damaged. */
  #damaged: ReadonlySet<string> = new Set()
  /** True if the last sweep found nothing to do. */
  #isIdle = false
  /** How many sweeps in a row have found nothing to do since then. */
  #rests = 0
  /** By this time a sweep is due, whatever there is to do. */
  #fullBy = 0
  /** True if what the node's slots can take has changed since the last sweep. */
  #hasToTell = false
  #kinds: string | undefined

  constructor(store: UpkeepStore, policy: Policy, host: SweeperHost) {
    this.#store = store
    this.#policy = policy
    this.#host = host
  }

  /** The first sweep registers the node; it throws when the store does not answer. */
  async start(): Promise<void> {
    await this.runOnce()
    this.#schedule(this.#everyMs())
  }

  /** A timer becomes due in `ms`: the sweeper sweeps then, if that is before the planned sweep. The planned one sees all later timers. */
  dueIn(ms: number): void {
    // The sweep after the next one sees all later timers.
    const isFar = ms > 2 * restMost * this.#policy.sweepEveryMs
    if (this.#stopped || isFar || performance.now() + ms >= this.#nextAt) return
    this.#schedule(ms + 1)
  }

  /** Called when there is work: the next sweep comes no later than usual. */
  stir(): void {
    if (this.#rests === 0) return
    this.#rests = 0
    this.dueIn(this.#everyMs())
  }

  /** Called when the node's slots have changed: it sweeps at once, whatever there is to do. */
  tellOfSlots(): void {
    this.#hasToTell = true
    this.dueIn(0)
  }

  /** Called when something was cancelled: this node looks at it at once, whoever swept before. */
  finishSoon(): void {
    this.#finishesMore = true
    this.dueIn(0)
  }

  /** Opens the gates that can be opened (SWEEP-7). */
  openGates(): void {
    if (this.#stopped) return
    const isFirst = this.#opening === 'no'
    this.#opening = isFirst ? 'now' : 'again'
    if (isFirst) void this.#openGates()
  }

  async #openGates(): Promise<void> {
    try {
      while (this.#opening !== 'no' && !this.#stopped) {
        this.#opening = 'now'
        await this.#fire()
        if (this.#opening === 'now') this.#opening = 'no'
      }
    } catch {
      this.#opening = 'no'
    }
  }

  async runOnce(): Promise<void> {
    try {
      await this.#tend()
    } catch (error) {
      if (toRuntimeError(error).code === 'store_refused') await this.#makeRoom()
      throw error
    }
    await this.#makeRoom()
  }

  async #makeRoom(): Promise<void> {
    await this.#prune()
    await this.#pack()
  }

  async #tend(): Promise<void> {
    // Another node may have died before it brought its mails.
    this.#host.carry()
    if (await this.#rested()) return
    this.#rests = 0
    this.#hasToTell = false
    const damaged = new Set<string>()
    const { isIdle: isHealed, isHealer } = await this.#heal(damaged)
    const hasFired = !(await this.#fire())
    const isFinished = isHealer || this.#finishesMore ? await this.#finish(damaged) : true
    const isIdle = isHealed && !hasFired && isFinished
    this.#damaged = damaged
    this.#isIdle = isIdle && damaged.size === 0
    this.#fullBy = performance.now() + this.#policy.sweepEveryMs * fullEvery
  }

  /** Asks whether there is nothing to do (SWEEP-5). */
  async #rested(): Promise<boolean> {
    const hasToTell = this.#hasToTell || this.#host.turnsLeft() !== null
    if (!this.#isIdle || hasToTell || this.#told.length > 0 || performance.now() >= this.#fullBy) return false
    const rest = await this.#store.rest()
    if (rest === null) return false
    this.#host.learnPause(rest.isPaused)
    await this.#learnKinds(rest.kinds)
    this.#rests++
    if (rest.dueInMs !== null) this.dueIn(rest.dueInMs)
    return true
  }

  /** Reads the register only when it has changed: there may be a thousand kinds. */
  async #learnKinds(version: string): Promise<void> {
    if (version === this.#kinds) return
    this.#host.learnKinds(await this.#store.kindPools())
    this.#kinds = version
  }

  /** Like the methods below, it returns whether there was nothing to do; and also whether this node is the one that heals. */
  async #heal(damaged: Set<string>): Promise<{ readonly isIdle: boolean; readonly isHealer: boolean }> {
    let isIdle = true
    let isHealer = false
    for (let more = true, leftBefore = Number.POSITIVE_INFINITY; more; ) {
      const swept = await this.#store.sweep(this.#host.slots, this.#host.poolLoads(), false, this.#host.turnsLeft())
      isHealer ||= swept.isHealer
      this.#host.learnPause(swept.isPaused)
      if (swept.healed > 0) this.#host.noteHealed(swept.healed)
      await this.#learnKinds(swept.kinds)
      if (swept.healed > 0 || swept.wakeups.length > 0 || swept.left > 0 || swept.wasGone) isIdle = false
      if (swept.wasGone) await this.#registerAgain()
      if (swept.setBack !== null) this.#tellOfClock(swept.setBack)
      for (const wakeup of swept.wakeups) this.#host.answer(wakeup)
      const what =
        'the record of a worker cannot be read: the worker waits until its record is restored, and the others go on'
      for (const worker of swept.damaged) this.#tellOf(damaged, worker, what, { worker })
      // Stops when the number does not fall: claims put workers with a damaged key back as fast as a sweep takes them in.
      const takesMore = swept.left > 0 && swept.left < leftBefore
      leftBefore = swept.left
      more = swept.hasMore || takesMore
    }
    return { isIdle, isHealer }
  }

  /** One node notices that the clock was set back, with its first sweep after that. */
  #tellOfClock({ ms, timers }: { readonly ms: number; readonly timers: number }): void {
    const what =
      "Redis's clock was set back, or another Redis took over whose clock is behind: timers and retries were moved by as much, so that none waits longer. Let NTP set the clocks"
    this.#host.log.warn(what, { partition: this.#store.partition, setBackMs: ms, timers })
  }

  async #registerAgain(): Promise<void> {
    await this.#host.register()
    const what =
      'this node was not registered in Redis any more, and has registered again: for a minute Redis was away or refused writes, or this node stood still; or Redis lost its data (FLUSHALL, a restart without a file), and sessions with it: troupe audit'
    this.#host.log.warn(what, { partition: this.#store.partition })
  }

  async #fire(): Promise<boolean> {
    let isIdle = true
    for (let more = true; more; ) {
      const told = this.#told
      this.#told = []
      const { fired, dueInMs, wakeups, notices, follows } = await this.#store.fire(told)
      if (fired > 0) isIdle = false
      this.#host.wake(wakeups)
      if (follows !== undefined) this.#following = this.#follow(follows, this.#following)
      for (const notice of notices) void this.#tell(notice)
      more = fired >= this.#policy.sweepBatch
      if (!more && dueInMs !== null) this.dueIn(dueInMs)
    }
    return isIdle
  }

  /** No sweep waits for this: the server of another partition may be away. */
  async #follow(answered: Promise<GuestsAnswered>, before: Promise<void> | undefined): Promise<void> {
    const { woken, opensGate } = await answered
    for (const { partition, wakeups } of woken) this.#host.wakeIn(partition, wakeups)
    if (opensGate) this.#host.openGates()
    await before
  }

  /** If telling fails, a sweep of some node does it again in half a minute, and then ever more rarely (fire.lua). */
  async #tell(notice: string): Promise<void> {
    try {
      await this.#host.tell(notice)
      this.#told.push(notice)
      this.dueIn(0)
    } catch (error) {
      this.#tellOfUntold(workerOfNotice(notice), toRuntimeError(error).message)
    }
  }

  #tellOfUntold(worker: string, error: string): void {
    const now = performance.now()
    if (now < (this.#untold.get(error) ?? -untoldEveryMs) + untoldEveryMs) return
    if (this.#untold.size >= untoldMost) this.#untold.clear()
    this.#untold.set(error, now)
    const what =
      'a notice could not be sent to where notify says, or to a webhook endpoint; it is tried again. Others that fail for the same reason are not logged for a minute'
    this.#host.log.warn(what, { worker, error })
  }

  async #finish(damaged: Set<string>): Promise<boolean> {
    const { finished, damaged: sessions, wakeups } = await this.#store.finishCancelled()
    this.#host.wake(wakeups)
    const what = 'a cancel cannot be finished; it waits until the session is mended'
    for (const { sessionId: session, error } of sessions)
      this.#tellOf(damaged, session, what, { session, error: error.message })
    // There may be more cancels. The next sweep finishes them, so that leases and timers need not wait. If few were finished, the workers of the
    // others probably still run, and the next sweep comes at its usual time.
    this.#finishesMore = finished * 2 >= this.#policy.sweepBatch
    if (this.#finishesMore) this.dueIn(0)
    return finished === 0 && sessions.length === 0
  }

  /** Prunes for `pruneMs` at most; the next sweep goes on. The store decides which node makes the pass. Every node registers its kinds again. */
  async #prune(): Promise<void> {
    const began = performance.now()
    if (began - this.#prunedAt <= this.#policy.pruneEveryMs) return
    while (performance.now() - began < this.#policy.pruneMs) {
      const { done } = await this.#store.prune()
      if (!done) continue
      this.#prunedAt = performance.now()
      await this.#host.register()
      await this.#forgetKinds()
      return this.#lookAtRedis()
    }
  }

  async #forgetKinds(): Promise<void> {
    const { kinds, pools } = await this.#store.forgetKinds()
    const what =
      'kinds and pools that no node has hosted for long are forgotten; a node that hosts them makes them known again'
    if (kinds.length + pools.length > 0) this.#host.log.info(what, { partition: this.#store.partition, kinds, pools })
  }

  /** Packs for `packMs` at most; the next sweep goes on. The store decides which node makes the walk. */
  async #pack(): Promise<void> {
    const began = performance.now()
    if (began - this.#packedAt <= this.#policy.coldEveryMs) return
    while (performance.now() - began < this.#policy.packMs) {
      const { done } = await this.#store.pack()
      if (!done) continue
      this.#packedAt = performance.now()
      return
    }
    this.stir()
  }

  /** Somebody may change the settings of Redis while it runs. Logs each problem once, for as long as it stays. */
  async #lookAtRedis(): Promise<void> {
    const problem = await this.#store.redisProblem()
    if (problem === this.#problem) return
    this.#problem = problem
    if (problem === null) this.#host.log.info('Redis is fit again')
    else this.#host.log.error('Redis is not fit for troupe any more', { problem })
  }

  /** Logs a damaged key once, for as long as it is damaged. */
  #tellOf(damaged: Set<string>, id: string, what: string, fields: Record<string, string>): void {
    // Several batches of one sweep may find the same damage.
    if (!damaged.has(id) && !this.#damaged.has(id)) this.#host.log.error(what, fields)
    damaged.add(id)
  }

  /** Random, so that nodes do not all sweep at the same moment. */
  #everyMs(): number {
    return this.#policy.sweepEveryMs * Math.min(1 + this.#rests, restMost) * (0.8 + Math.random() * 0.4)
  }

  #schedule(ms: number): void {
    if (this.#stopped) return
    clearTimeout(this.#timer)
    this.#nextAt = performance.now() + ms
    this.#timer = setTimeout(() => {
      // A sweep that becomes due while another one runs begins after it.
      this.#running = (this.#running ?? Promise.resolve()).then(() => this.#sweep())
    }, ms)
  }

  async #sweep(): Promise<void> {
    if (this.#stopped) return
    this.#nextAt = Number.POSITIVE_INFINITY
    const { partition } = this.#store
    try {
      await this.runOnce()
      if (this.#failing) this.#host.log.info('Redis answers again: sweeps go on', { partition })
      this.#failing = false
    } catch (error) {
      if (!this.#failing)
        this.#host.log.warn('a sweep failed; it is tried again every second', { partition, error: String(error) })
      this.#failing = true
    }
    const everyMs = this.#everyMs()
    if (!this.#stopped && this.#nextAt > performance.now() + everyMs) this.#schedule(everyMs)
  }

  /** Signs the node off in Redis, so that nobody counts on its slots any more. */
  async stop(): Promise<void> {
    if (this.#stopped) return
    this.#stopped = true
    clearTimeout(this.#timer)
    await this.#running
    await this.#following
    await this.#store
      .sweep(
        0,
        this.#host.poolLoads().map((load) => ({ ...load, free: 0 })),
        true,
      )
      .catch(() => {})
  }
}
