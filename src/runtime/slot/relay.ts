/**
 * Duty: who could begin in the same pass of the event loop goes one after the other, so that what one of them asks of Redis stands together,
 * and not between what the others ask.
 * Y1 None waits for longer than that pass: when the loop has gone round, all who still wait begin.
 */
export class Relay {
  #last: Promise<void> = Promise.resolve()

  /** Resolves when it is this one's turn, with what passes it on. */
  async enter(): Promise<() => void> {
    const before = this.#last
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#last = promise
    setImmediate(resolve)
    await before
    return resolve
  }
}
