/**
 * Duty: the order in which a node tells notices: some at a time. After a time without nodes there may be a million of them.
 * NOTICES-1 A notice that waits to be told and comes again is told once. One that is being told is told again: what is told of may have happened once
 *    more since it was read.
 */

/** So many are told at once. */
const atOnce = 50

export class NoticeQueue {
  readonly #tell: (notice: string) => Promise<void>
  readonly #waiting = new Map<string, PromiseWithResolvers<void>>()
  #telling = 0

  constructor(tell: (notice: string) => Promise<void>) {
    this.#tell = tell
  }

  /** Resolves when it is told. */
  add(notice: string): Promise<void> {
    const known = this.#waiting.get(notice)
    if (known) return known.promise
    const told = Promise.withResolvers<void>()
    this.#waiting.set(notice, told)
    this.#next()
    return told.promise
  }

  /** What waits is not told here: it stands among the timers, and another node tells it. */
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
