/**
 * Duty: the wake-ups that a node answered, or heard in vain, before their jobs came, or came again: such a job finds nothing left to do here.
 * Their jobs may come to other nodes, so only the newest are remembered. To forget one costs a claim that finds nothing.
 */

const most = 256

export class AnsweredWakeups {
  readonly #ids = new Set<string>()

  note(id: string): void {
    this.#ids.add(id)
    if (this.#ids.size > most) this.#ids.delete(this.#ids.values().next().value as string)
  }

  /** Was it answered early? Once: what is rung again under this name is answered. */
  take(id: string): boolean {
    return this.#ids.delete(id)
  }
}
