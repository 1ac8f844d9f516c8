/**
 * Duty: send the notices of a node in order, some at a time. If no node ran for a time, there may be a million of them.
 * NOTICES-1 A waiting notice that comes again is sent once. A notice that comes again while it is sent is sent again: its subject may have
 *    changed since it was read.
 */

/** How many notices are sent at once. */
const atOnce = 50

export class NoticeQueue {
  readonly #tell: (notice: string) => Promise<void>
  readonly #waiting = new Map<string, PromiseWithResolvers<void>>()
  #telling = 0

  constructor(tell: (notice: string) => Promise<void>) {
    this.#tell = tell
  }

  /** Resolves when the notice is sent. */
  add(notice: string): Promise<void> {
    const known = this.#waiting.get(notice)
    if (known) return known.promise
    const told = Promise.withResolvers<void>()
    this.#waiting.set(notice, told)
    this.#next()
    return told.promise
  }

  /** A notice that waits is not told here: it stands among the timers, and another node tells it. */
  stop(): void {
    this.#waiting.clear()
  }

  #next(): void {
    const [first] = this.#waiting
    if (first === undefined || this.#telling === atOnce) return
    const [notice, told] = first
    this.#waiting.delete(notice)
    this.#telling++
    const end = () => {
      this.#telling--
      this.#next()
    }
    this.#tell(notice).then(told.resolve, told.reject).finally(end)
  }
}
