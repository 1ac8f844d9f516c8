/**
 * Duty: a node runs at most one suspect (a worker that was started repeatedly without a commit) at a time, so that the innocent
 * are not blamed for its deaths. The permission to claim one is given to one slot at a time.
 * A turn that is over, and whose behaviour goes on all the same, may block or end this node again: no suspect is claimed meanwhile,
 * for a while. One that never ends must not keep suspects from running for ever.
 */
export class SuspectGate {
  readonly #msMax: number
  #holder: number | null = null
  #outlasting = 0

  /** `msMax`: how long a behaviour that goes on counts. */
  constructor(msMax: number) {
    this.#msMax = msMax
  }

  /** Asks for a slot; a slot that holds the permission keeps it. */
  ask(slot: number): boolean {
    if (this.#outlasting > 0) return false
    this.#holder ??= slot
    return this.#holder === slot
  }

  giveBack(slot: number): void {
    if (this.#holder === slot) this.#holder = null
  }

  /** The turn of this behaviour was ended for it. One that has heeded its signal returns within this pass of the event loop. */
  async outlastIfDeaf(behaving: Promise<void>): Promise<void> {
    const isDeaf = await Promise.race([
      behaving.then(() => false),
      new Promise<boolean>((resolve) => setImmediate(resolve, true)),
    ])
    if (isDeaf) this.outlast(behaving)
  }

  /** The turn of this behaviour is over without having ended. */
  outlast(behaving: Promise<void>): void {
    this.#outlasting++
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, this.#msMax).unref()
    void Promise.race([behaving, late]).finally(() => {
      clearTimeout(timer)
      this.#outlasting--
    })
  }
}
