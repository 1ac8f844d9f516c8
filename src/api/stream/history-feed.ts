/**
 * Duty: send entries of histories between the events of a stream, as soon as an event says that there are more.
 * HISTORY-FEED-1 The entries of a worker come in their order, each once. They are read one page at a time, and none is written while the caller lags.
 * HISTORY-FEED-2 A stream does not end well before all entries have come: if the last of them cannot be read, it fails.
 */
import type { Troupe } from '../../client/client.ts'
import { NotFoundError } from '../../core/errors.ts'
import type { SseWriter } from './sse.ts'

const pageSize = 200

export class HistoryFeed {
  readonly #troupe: Troupe
  readonly #writer: SseWriter
  readonly #signal: AbortSignal
  readonly #only: string | undefined
  /** The position of the last entry that was sent, by worker. */
  readonly #sentTo: Map<string, number>
  readonly #noted = new Set<string>()
  /** The workers whose histories could not be read, and why. */
  readonly #failed = new Map<string, unknown>()
  #reading: Promise<void> = Promise.resolve()

  /**
   * `only`: the worker whose history is wanted; undefined: the histories of all workers. `sentTo`: up to where the caller has the history of each
   * worker; of a worker that is not there it has nothing.
   */
  constructor(
    troupe: Troupe,
    writer: SseWriter,
    signal: AbortSignal,
    { only, sentTo }: { readonly only: string | undefined; readonly sentTo: Map<string, number> },
  ) {
    this.#troupe = troupe
    this.#writer = writer
    this.#signal = signal
    this.#only = only
    this.#sentTo = sentTo
  }

  /** Notes that there may be more in the history of this worker. */
  note(workerId: string): void {
    if (this.#only !== undefined && this.#only !== workerId) return
    this.#noted.add(workerId)
    if (this.#noted.size === 1) this.#reading = this.#reading.then(() => this.#readNoted())
  }

  /** Resolves once everything that was noted is sent (HISTORY-FEED-2). */
  async finish(): Promise<void> {
    for (const id of [...this.#sentTo.keys(), ...this.#failed.keys()]) this.note(id)
    await this.#reading
    for (const error of this.#failed.values()) throw error
  }

  async #readNoted(): Promise<void> {
    for (const id of this.#noted) {
      // It is deleted before the history is read: if it is noted from now on, the history is read again.
      this.#noted.delete(id)
      await this.#read(id)
    }
  }

  async #read(workerId: string): Promise<void> {
    const worker = this.#troupe.workers.get(workerId)
    this.#failed.delete(workerId)
    for (let more = true; more && !this.#signal.aborted; ) {
      const query = { after: this.#sentTo.get(workerId) ?? -1, limit: pageSize }
      const page = await worker.history(query).catch((error: unknown) => {
        // A worker that was pruned has no entries any more. If Redis is away, the next event asks again, or the end of the stream.
        if (!(error instanceof NotFoundError)) this.#failed.set(workerId, error)
        return []
      })
      for (const { position, entry } of page) {
        this.#sentTo.set(workerId, position)
        this.#writer.send({
          type: 'history.entry',
          json: JSON.stringify({ type: 'history.entry', workerId, position, entry }),
        })
        if (this.#writer.lags) await this.#writer.drained(this.#signal).catch(() => {})
        if (this.#signal.aborted) return
      }
      more = page.length === pageSize
    }
  }
}
