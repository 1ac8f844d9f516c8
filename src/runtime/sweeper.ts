/**
 * Duty: once about every second, in every node: heal, fire timers, finish cancels, prune, and answer in this process what no bell
 * has woken. So the system goes on, slower, when BullMQ's jobs are lost.
 * W1 A sweep never rings BullMQ for what it finds itself; the node answers those bells with its own free slots.
 * W2 Batches are repeated while there is more. W3 A sweep that fails is logged and tried again: Redis may be away for a while.
 */

import type { Policy } from '../core/policy.ts'
import type { Bell, PoolShare, UpkeepStore } from '../core/ports.ts'
import type { WorkerLog } from '../core/worker-log.ts'

export interface SweeperHost {
  readonly log: WorkerLog
  readonly slots: number
  shares(): PoolShare[]
  answer(bell: Bell): void
  ring(bells: readonly Bell[]): void
  learnKinds(pools: ReadonlyMap<string, string>): void
  /** Writes the kinds again: a Redis that lost its data must not forget what is hosted. */
  register(): Promise<void>
}

const pruneEveryMs = 60_000

export class Sweeper {
  readonly #store: UpkeepStore
  readonly #policy: Policy
  readonly #host: SweeperHost
  #timer: NodeJS.Timeout | undefined
  #nextAt = 0
  #prunedAt = 0
  #running: Promise<void> | undefined
  #stopped = false
  #failing = false
  #damaged: ReadonlySet<string> = new Set()

  constructor(store: UpkeepStore, policy: Policy, host: SweeperHost) {
    this.#store = store
    this.#policy = policy
    this.#host = host
  }

  /** The first sweep registers the node; it throws when the store does not answer. */
  async start(): Promise<void> {
    this.#prunedAt = performance.now()
    await this.runOnce()
    this.#schedule(this.#policy.sweepEveryMs * (0.8 + Math.random() * 0.4))
  }

  /** A timer becomes due: sweep then, if that is earlier than planned. */
  dueIn(ms: number): void {
    if (this.#stopped || performance.now() + ms >= this.#nextAt) return
    this.#schedule(ms + 1)
  }

  async runOnce(): Promise<void> {
    const { sweepBatch } = this.#policy
    for (let more = true; more; ) {
      const swept = await this.#store.sweep(this.#host.slots, this.#host.shares(), false)
      for (const bell of swept.bells) this.#host.answer(bell)
      this.#tellOfDamage(swept.damaged)
      more = swept.healed >= sweepBatch
    }
    for (let more = true; more; ) {
      const { fired, dueInMs, bells } = await this.#store.fire()
      this.#host.ring(bells)
      more = fired >= sweepBatch
      if (!more && dueInMs !== null) this.dueIn(dueInMs)
    }
    await this.#store.finishCancelled()
    this.#host.learnKinds(await this.#store.kindPools())
    if (performance.now() - this.#prunedAt > pruneEveryMs) {
      this.#prunedAt = performance.now()
      await this.#store.prune()
      await this.#host.register()
    }
  }

  /** Once for each worker, while it is damaged. */
  #tellOfDamage(workers: readonly string[]): void {
    for (const worker of workers) {
      if (this.#damaged.has(worker)) continue
      const what = 'the record of a worker cannot be read; the worker waits until it is put back, and the others go on'
      this.#host.log.error(what, { worker })
    }
    this.#damaged = new Set(workers)
  }

  #schedule(ms: number): void {
    clearTimeout(this.#timer)
    this.#nextAt = performance.now() + ms
    this.#timer = setTimeout(() => {
      this.#running = this.#sweep()
    }, ms)
  }

  async #sweep(): Promise<void> {
    if (this.#stopped) return
    this.#nextAt = Number.POSITIVE_INFINITY
    try {
      await this.runOnce()
      if (this.#failing) this.#host.log.info('the store answers again')
      this.#failing = false
    } catch (error) {
      if (!this.#failing)
        this.#host.log.warn('a sweep failed; it is tried again every second', { error: String(error) })
      this.#failing = true
    }
    const everyMs = this.#policy.sweepEveryMs * (0.8 + Math.random() * 0.4)
    if (!this.#stopped && this.#nextAt > performance.now() + everyMs) this.#schedule(everyMs)
  }

  /** Says goodbye, so that this node's slots are not counted on any more. */
  async stop(): Promise<void> {
    if (this.#stopped) return
    this.#stopped = true
    clearTimeout(this.#timer)
    await this.#running
    await this.#store
      .sweep(
        0,
        this.#host.shares().map((share) => ({ ...share, free: 0 })),
        true,
      )
      .catch(() => {})
  }
}
