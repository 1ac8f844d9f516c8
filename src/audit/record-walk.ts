/**
 * Duty: find all workers that have a record, and whose session is not there.
 * WALK-1 Only a walk over all keys of a server finds them. One walk serves all partitions that the server has. It keeps what it finds, and nothing
 *     of the others.
 */
import { type AuditStore, pagesOf } from '../store/audit/audit-store.ts'

type Found = ReadonlyMap<number, ReadonlySet<string>>

export class RecordWalk {
  readonly #stores: readonly AuditStore[]
  #found: Promise<Found> | undefined

  constructor(stores: readonly AuditStore[]) {
    this.#stores = stores
  }

  /** Returns those in the partition of the store. Among them are workers whose record cannot be read. */
  async orphans(store: AuditStore): Promise<string[]> {
    this.#found ??= this.#walk()
    return [...((await this.#found).get(store.partition) ?? [])]
  }

  async #walk(): Promise<Found> {
    const found = new Map(this.#stores.map(({ partition }) => [partition, new Set<string>()]))
    const byPartition = new Map(this.#stores.map((store) => [store.partition, store]))
    for (const server of new Map(this.#stores.map((one) => [one.server, one])).values()) {
      for await (const page of pagesOf((cursor) => server.records(cursor))) {
        for (const [partition, records] of Map.groupBy(page, (one) => one.partition)) {
          const ids = records.map(({ id }) => id)
          const orphans = (await byPartition.get(partition)?.withoutSession(ids)) ?? []
          for (const id of orphans) found.get(partition)?.add(id)
        }
      }
    }
    return found
  }
}
