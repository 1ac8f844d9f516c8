/**
 * Duty: bring mails to other partitions, as soon as a commit of this node sends some, and with every sweep.
 * CARRIER-1 It looks for mails once at a time, and brings those for one partition once at a time; if it is asked while it does, it does so once more. If
 *    it fails, it tries again after a second.
 * CARRIER-2 Nobody waits for a partition that does not answer, but the mails for it.
 */
import type { WorkerLog } from '../../core/definition/worker-log.ts'
import type { OutboxStore } from '../../core/ports/outbox.ts'
import type { Wakeup } from '../../core/ports/wake.ts'

const againMs = 1_000

/** Work that is done once at a time. */
class Rounds {
  readonly #work: () => Promise<void>
  #isAsked = false
  running: Promise<void> | undefined

  /** `work` never rejects. */
  constructor(work: () => Promise<void>) {
    this.#work = work
  }

  run(): Promise<void> {
    this.#isAsked = true
    this.running ??= this.#all()
    return this.running
  }

  async #all(): Promise<void> {
    while (this.#isAsked) {
      this.#isAsked = false
      await this.#work()
    }
    // No await may come between this and the last look at `#isAsked`: a request in between would wait for the next sweep.
    this.running = undefined
  }
}

/** A partition to which mails are brought. */
interface Destination {
  readonly partition: number
  readonly rounds: Rounds
  /** It could not be reached last time. */
  isFailing: boolean
  again: NodeJS.Timeout | undefined
}

export class Carrier {
  readonly #store: OutboxStore
  readonly #wake: (partition: number, wakeups: readonly Wakeup[]) => void
  readonly #log: WorkerLog
  readonly #looks = new Rounds(() => this.#look())
  readonly #destinations = new Map<number, Destination>()
  #isStopped = false

  constructor(store: OutboxStore, wake: (partition: number, wakeups: readonly Wakeup[]) => void, log: WorkerLog) {
    this.#store = store
    this.#wake = wake
    this.#log = log
  }

  /** Resolves when nothing is on its way any more. Never rejects. */
  async run(): Promise<void> {
    if (this.#isStopped) return
    await this.#looks.run()
    await Promise.all(Array.from(this.#destinations.values(), ({ rounds }) => rounds.running ?? Promise.resolve()))
  }

  async #look(): Promise<void> {
    try {
      for (const partition of await this.#store.partitions()) void this.#destination(partition).rounds.run()
    } catch (error) {
      this.#log.debug('outboxes could not be read; the next sweep tries again', { error: String(error) })
    }
  }

  #destination(partition: number): Destination {
    const known = this.#destinations.get(partition)
    if (known !== undefined) return known
    const rounds = new Rounds(() =>
      this.#bring(made).catch((error: unknown) =>
        this.#log.debug('messages could not be brought to another partition; the next sweep tries again', {
          partition,
          error: String(error),
        }),
      ),
    )
    const made: Destination = { partition, rounds, isFailing: false, again: undefined }
    this.#destinations.set(partition, made)
    return made
  }

  async #bring(to: Destination): Promise<void> {
    const { partition } = to
    clearTimeout(to.again)
    const { wakeups, refused, error } = await this.#store.carry(partition)
    this.#wake(partition, wakeups)
    if (refused > 0) this.#log.warn('recipients in another partition refused messages', { partition, refused })
    if (error !== undefined && !to.isFailing) {
      const what = 'messages to another partition wait: they are brought when it can be reached'
      this.#log.warn(what, { partition, error: error.message })
    }
    to.isFailing = error !== undefined
    if (to.isFailing && !this.#isStopped) to.again = setTimeout(() => void to.rounds.run(), againMs).unref()
  }

  stop(): void {
    this.#isStopped = true
    for (const { again } of this.#destinations.values()) clearTimeout(again)
  }
}
