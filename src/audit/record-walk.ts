/**
 * Duty: find all workers that have a record, also those that no session lists.
 * WALK-1 Only a walk over all keys of Redis finds them. One walk serves all partitions of an audit: it keeps what it finds of the others.
 */
import { type AuditStore, itemsOf } from '../store/audit/audit-store.ts'

export class RecordWalk {
  readonly #wanted: ReadonlySet<number>
  #found: Promise<ReadonlyMap<number, ReadonlySet<string>>> | undefined

  constructor(stores: readonly AuditStore[]) {
    this.#wanted = new Set(stores.map(({ partition }) => partition))
  }

  /** Workers in the partition of the store that have a record and are not among those known. */
  async unknown(store: AuditStore, known: ReadonlySet<string>): Promise<string[]> {
    this.#found ??= this.#walk(store, known)
    const own = (await this.#found).get(store.partition) ?? []
    return [...own].filter((id) => !known.has(id))
  }

  /** Known workers are not kept, to save memory. */
  async #walk(store: AuditStore, known: ReadonlySet<string>): Promise<ReadonlyMap<number, ReadonlySet<string>>> {
    const found = new Map([...this.#wanted].map((partition) => [partition, new Set<string>()]))
    for await (const { partition, id } of itemsOf((cursor) => store.records(cursor)))
      if (!known.has(id)) found.get(partition)?.add(id)
    return found
  }
}
