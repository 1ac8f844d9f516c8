/**
 * Duty: the ids that the workers and asks of a session have in a copy of it.
 * FORKED-IDS-1 The id of a child follows from its parent, run and call, in a copy as everywhere (ID-2): a spawn that is repeated gives the same child.
 * FORKED-IDS-2 An id that is of no worker of the session stays as it is.
 */
import { childId, forkedAskId, isId, isWorkerId, rootIdOf } from '../ids.ts'

/** How a child came to be. */
export interface Spawned {
  readonly id: string
  readonly parentId: string
  /** The run of the parent; null for a detached child, whose record does not name it. */
  readonly parentRun: number | null
  readonly call: number
  /** The number of the last run that its parent has begun. */
  readonly parentRuns: number
}

export class ForkedIds {
  readonly sessionId: string
  readonly #workers: Map<string, string>

  constructor(from: string, copy: string) {
    this.sessionId = copy
    this.#workers = new Map([[rootIdOf(from), rootIdOf(copy)]])
  }

  /** Parents come first. Returns false for a child whose id is not made of its parent, a run and a call. */
  add({ id, parentId, parentRun, call, parentRuns }: Spawned): boolean {
    const parent = this.#workers.get(parentId)
    if (parent === undefined) return false
    const [first, last] = parentRun === null ? [1, parentRuns] : [parentRun, parentRun]
    for (let run = last; run >= first; run--) {
      if (childId(parentId, run, call) !== id) continue
      this.#workers.set(id, childId(parent, run, call))
      return true
    }
    return false
  }

  /** The ids of all workers, in the session and in the copy. */
  get all(): [string, string][] {
    return [...this.#workers]
  }

  /** The id of a worker in the copy. */
  worker(id: string): string {
    return this.#workers.get(id) ?? id
  }

  /** The id in the copy of an ask of this worker. */
  ask(worker: string, id: string): string {
    return forkedAskId(this.worker(worker), id)
  }

  /**
   * The id in the copy of a message that this worker received: an answer has the id of its ask, which is of version 8, and a result begins with that
   * of its child. Other ids are known only in its mailbox.
   */
  message(worker: string, id: string): string {
    const [child, call] = id.split(':') as [string, string?]
    if (call !== undefined) return `${this.worker(child)}:${call}`
    return isId(id) && isWorkerId(id) ? this.ask(worker, id) : id
  }

  /** Permissions as the copy stores them: with the ids in it of the workers that the worker may send to. */
  permissions(text: string): string {
    const line = (words: string) =>
      words.startsWith('send ')
        ? words
            .split(' ')
            .map((id) => this.worker(id))
            .join(' ')
        : words
    return text.split('\n').map(line).join('\n')
  }
}
