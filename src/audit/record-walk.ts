/**
 * Duty: which workers have a record, whoever knows of them. Only a walk over all keys of the Redis tells, so there is one for all
 * partitions of an audit: what it finds of the others is kept until they are looked at.
 */
import { type AuditStore, itemsOf } from '../store/audit-store.ts'

export class RecordWalk {
  readonly #wanted: ReadonlySet<number>
  #found: Promise<ReadonlyMap<number, ReadonlySet<string>>> | undefined

  constructor(stores: readonly AuditStore[]) {
    this.#wanted = new Set(stores.map(({ partition }) => partition))
  }

  /** Workers of the store's partition that have a record and are not known. */
  async unknown(store: AuditStore, known: ReadonlySet<string>): Promise<string[]> {
    this.#found ??= this.#walk(store, known)
    const own = (await this.#found).get(store.partition) ?? []
    return [...own].filter((id) => !known.has(id))
  }

  /** Those that are known need no place. */
  async #walk(store: AuditStore, known: ReadonlySet<string>): Promise<ReadonlyMap<number, ReadonlySet<string>>> {
    const found = new Map([...this.#wanted].map((partition) => [partition, new Set<string>()]))
    for await (const { partition, id } of itemsOf((cursor) => store.records(cursor)))
      if (!known.has(id)) found.get(partition)?.add(id)
    return found
  }
}
