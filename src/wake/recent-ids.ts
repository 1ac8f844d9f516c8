/**
 * Duty: remembers the newest ids that were noted, each until it is taken. It keeps a limited number: the job of a noted wake-up may go to another
 * node, and then nobody here takes the id. A wake-up whose id was forgotten costs a claim that finds nothing.
 */
const most = 256

export class RecentIds {
  readonly #ids = new Set<string>()

  note(id: string): void {
    this.#ids.add(id)
    if (this.#ids.size > most) this.#ids.delete(this.#ids.values().next().value as string)
  }

  /** Was the id noted? It is forgotten with this call. */
  take(id: string): boolean {
    return this.#ids.delete(id)
  }
}
