/**
 * Duty: a node runs at most one suspect (a worker that was started repeatedly without a commit) at a time, so that the innocent
 * are not blamed for its deaths. The permission to claim one is given to one slot at a time.
 */
export class SuspectGate {
  #holder: number | null = null

  /** Asks for a slot; a slot that holds the permission keeps it. */
  ask(slot: number): boolean {
    this.#holder ??= slot
    return this.#holder === slot
  }

  giveBack(slot: number): void {
    if (this.#holder === slot) this.#holder = null
  }
}
