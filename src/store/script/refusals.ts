/**
 * Duty: say once that Redis takes no writes ("not now": it is full, read-only or loading), and that it does again.
 * REFUSALS-1 It says so at the first refusal: a refused call is repeated for as long as its time lasts, which may be 15 s.
 */
import type { WorkerLog } from '../../core/definition/worker-log.ts'

export class Refusals {
  readonly #log: WorkerLog | undefined
  /** The files of scripts whose last call was refused. A full Redis goes on to take scripts that write nothing. */
  readonly #files = new Set<string>()

  constructor(log: WorkerLog | undefined) {
    this.#log = log
  }

  refused(file: string, { message }: Error): void {
    if (this.#files.size === 0)
      this.#log?.warn('Redis takes no writes now; refused calls are made again until it does', { refusal: message })
    this.#files.add(file)
  }

  accepted(file: string): void {
    if (this.#files.size === 0) return
    if (this.#files.delete(file) && this.#files.size === 0) this.#log?.info('Redis takes writes again')
  }
}
