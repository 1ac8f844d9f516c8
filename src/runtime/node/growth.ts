/**
 * Duty: takes in the partitions that come while a node runs.
 * GROWTH-1 It looks once at a time; a request while it looks makes it look once more. What fails is tried again: a session in a new partition
 *    waits for it.
 * GROWTH-2 A node that stops waits for the look in progress as long as for its other last calls: Redis may not answer.
 */
import type { WorkerLog } from '../../core/definition/worker-log.ts'
import { toRuntimeError } from '../../core/errors.ts'
import type { Listener } from './running-node.ts'

const againMs = 2_000

export interface GrowthOptions {
  /** How many there are now. */
  readonly count: () => Promise<number>
  /** How many the node knows. */
  readonly known: () => number
  /** Opens those that it does not know, and begins to work in all that are open. Safe to call again where it failed. */
  readonly open: (partitions: number) => Promise<void>
  /** How long `stop` waits at most. */
  readonly goodbyeMs: number
  readonly log: WorkerLog
}

export class Growth implements Listener {
  readonly #o: GrowthOptions
  #looking: Promise<void> | undefined
  #isAsked = false
  #isFailing = false
  #isReady = false
  #isStopped = false
  #again: NodeJS.Timeout | undefined

  constructor(options: GrowthOptions) {
    this.#o = options
  }

  /** From now on it looks when somebody has it look, and if somebody has already. */
  async ready(): Promise<void> {
    this.#isReady = true
    if (this.#isAsked) void this.look()
  }

  /** Resolves when it has looked. Does not reject. */
  async look(): Promise<void> {
    this.#isAsked = true
    if (!this.#isReady) return
    this.#looking ??= this.#run()
    await this.#looking
  }

  async #run(): Promise<void> {
    while (this.#isAsked && !this.#isStopped) {
      this.#isAsked = false
      await this.#lookOnce().catch(() => this.#tryAgain())
    }
    // No await may come between this and the last look at `#isAsked`.
    this.#looking = undefined
  }

  async #lookOnce(): Promise<void> {
    const { count, known, open, log } = this.#o
    const partitions = await count()
    if (partitions <= known() && !this.#isFailing) return
    try {
      await open(partitions)
    } catch (error) {
      const what = 'the number of partitions was raised, and this node cannot work in the new ones yet; it tries again'
      if (!this.#isFailing) log.warn(what, { error: toRuntimeError(error).message })
      this.#isFailing = true
      throw error
    }
    this.#isFailing = false
    log.info('the number of partitions was raised: this node works in the new ones, too', { partitions })
  }

  #tryAgain(): void {
    if (!this.#isStopped) this.#again = setTimeout(() => void this.look(), againMs).unref()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    clearTimeout(this.#again)
    await Promise.race([this.#looking, new Promise((resolve) => setTimeout(resolve, this.#o.goodbyeMs).unref())])
  }
}
