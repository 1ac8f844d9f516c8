/**
 * Duty: find all workers that have a record, also those that no session lists.
 * WALK-1 Only a walk over all keys of a server finds them. One walk serves all partitions that the server has: it keeps what it finds of the others.
 */
import { type AuditStore, itemsOf } from '../store/audit/audit-store.ts'

export class RecordWalk {
  readonly #stores: readonly AuditStore[]
  #found: Promise<ReadonlyMap<number, ReadonlySet<string>>> | undefined

  constructor(stores: readonly AuditStore[]) {
    this.#stores = stores
  }

  /** Workers in the partition of the store that have a record and are not among those known. */
  async unknown(store: AuditStore, known: ReadonlySet<string>): Promise<string[]> {
    this.#found ??= this.#walk(known)
    const own = (await this.#found).get(store.partition) ?? []
    return [...own].filter((id) => !known.has(id))
  }

  /** Known workers are not kept, to save memory. */
  async #walk(known: ReadonlySet<string>): Promise<ReadonlyMap<number, ReadonlySet<string>>> {
    const found = new Map(this.#stores.map(({ partition }) => [partition, new Set<string>()]))
    for (const store of new Map(this.#stores.map((one) => [one.server, one])).values()) {
      for await (const { partition, id } of itemsOf((cursor) => store.records(cursor)))
        if (!known.has(id)) found.get(partition)?.add(id)
    }
    return found
  }
}
