/** Duty: what the runtime needs of the store to have messages for other partitions brought. */
import type { RuntimeError } from '../errors.ts'
import type { Wakeup } from './wake.ts'

/** What became of the mails for one partition. `error`: why some mails are left. */
export interface Carried {
  readonly wakeups: readonly Wakeup[]
  readonly delivered: number
  /** Their recipients do not take them. */
  readonly refused: number
  readonly error?: RuntimeError
}

/** Mails from workers of one partition to those of others. */
export interface OutboxStore {
  /** The other partitions to which mails were ever sent. */
  partitions(): Promise<readonly number[]>
  /** Brings all mails that wait for this one. Never rejects. */
  carry(partition: number): Promise<Carried>
}
