/**
 * Duty: bring mails to other partitions, as soon as a commit of this node sends some, and with every sweep.
 * CARRIER-1 It runs once at a time; if it is asked while it runs, it runs once more. If it fails, it tries again after a second.
 */
import type { WorkerLog } from '../../core/definition/worker-log.ts'
import type { OutboxStore } from '../../core/ports/outbox.ts'
import type { Wakeup } from '../../core/ports/wake.ts'

const againMs = 1_000

export class Carrier {
  readonly #store: OutboxStore
  readonly #wake: (partition: number, wakeups: readonly Wakeup[]) => void
  readonly #log: WorkerLog
  #running: Promise<void> | undefined
  #isAsked = false
  #again: NodeJS.Timeout | undefined
  /** Partitions that could not be reached last time. */
  readonly #failing = new Set<number>()

  constructor(store: OutboxStore, wake: (partition: number, wakeups: readonly Wakeup[]) => void, log: WorkerLog) {
    this.#store = store
    this.#wake = wake
    this.#log = log
  }

  /** Never throws. */
  run(): Promise<void> {
    this.#isAsked = true
    this.#running ??= this.#runAll()
    return this.#running
  }

  async #runAll(): Promise<void> {
    while (this.#isAsked) {
      this.#isAsked = false
      await this.#runOnce().catch((error: unknown) =>
        this.#log.debug('outboxes could not be read; the next sweep tries again', { error: String(error) }),
      )
    }
    // No await may come between this and the last look at `#isAsked`: a request in between would wait for the next sweep.
    this.#running = undefined
  }

  async #runOnce(): Promise<void> {
    for (const { partition, wakeups, refused, error } of await this.#store.carry()) {
      this.#wake(partition, wakeups)
      if (refused > 0)
        this.#log.warn('messages to another partition were not taken by their recipients', { partition, refused })
      if (error === undefined) this.#failing.delete(partition)
      else if (!this.#failing.has(partition)) {
        this.#failing.add(partition)
        const what = 'messages to another partition wait: they are brought when it can be reached'
        this.#log.warn(what, { partition, error: error.message })
      }
    }
    clearTimeout(this.#again)
    if (this.#failing.size > 0) this.#again = setTimeout(() => void this.run(), againMs).unref()
  }

  stop(): void {
    clearTimeout(this.#again)
  }
}
