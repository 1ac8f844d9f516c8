/**
 * Duty: lets a node run one suspect at a time. A suspect is a worker that was started repeatedly and never committed; if it ends the
 * node again, no innocent worker is blamed for that.
 * SUSPECT-1 One slot at a time has the permission to claim a suspect.
 * SUSPECT-2 No slot has it while a behaviour goes on although its turn is over (an overrun): it may block or end the node as well. An
 *    overrun counts for a limited time, else one that never ends would keep suspects from running for ever.
 */
export class Suspects {
  readonly #overrunMs: number
  #holder: number | null = null
  #overruns = 0

  /** `overrunMs`: how long an overrun counts at most. */
  constructor(overrunMs: number) {
    this.#overrunMs = overrunMs
  }

  /** May this slot claim a suspect? A slot that has the permission keeps it. */
  ask(slot: number): boolean {
    if (this.#overruns > 0) return false
    this.#holder ??= slot
    return this.#holder === slot
  }

  /** The slot has no need of the permission any more. */
  release(slot: number): void {
    if (this.#holder === slot) this.#holder = null
  }

  /** The turn of this behaviour was cancelled. A behaviour that obeys its signal returns within this pass of the event loop. */
  async noteOverrunIfDeaf(behaving: Promise<void>): Promise<void> {
    const isDeaf = await Promise.race([
      behaving.then(() => false),
      new Promise<boolean>((resolve) => setImmediate(resolve, true)),
    ])
    if (isDeaf) this.noteOverrun(behaving)
  }

  /** The turn of this behaviour is over, and the behaviour did not end it. */
  noteOverrun(behaving: Promise<void>): void {
    this.#overruns++
    const { promise: late, resolve } = Promise.withResolvers<void>()
    const timer = setTimeout(resolve, this.#overrunMs).unref()
    void Promise.race([behaving, late]).finally(() => {
      clearTimeout(timer)
      this.#overruns--
    })
  }
}
