/**
 * Duty: fold from a history the children that an agent started in the background (detached), and the ends of which its model was told.
 */
import type { SpawnNote } from '../entry.ts'

export class BackgroundTasks {
  readonly #tasks = new Map<string, SpawnNote>()
  readonly #told = new Set<string>()

  started(spawned: readonly SpawnNote[]): void {
    for (const note of spawned) if (note.detached) this.#tasks.set(note.id, note)
  }

  /** A branch begins with the notes of its first conversation, whose tasks it does not have. */
  told(ids: readonly string[]): void {
    for (const id of ids) if (this.#tasks.has(id)) this.#told.add(id)
  }

  /** The tasks in the order in which they were started. */
  get all(): SpawnNote[] {
    return [...this.#tasks.values()]
  }

  /** The tasks whose end was not told yet. */
  get untold(): SpawnNote[] {
    return this.#tasks.size === this.#told.size ? [] : this.all.filter(({ id }) => !this.#told.has(id))
  }
}
