/** Duty: the partitions that a list lacks because their server is away. The command shows what the others have, says this, and fails. */
import type { OnAway } from '../../client/fleet/each-partition.ts'
import { TransientError } from '../../core/errors.ts'
import { lacksText } from '../../words/away-text.ts'

export class AwayPartitions {
  readonly #partitions: number[] = []
  #error: TransientError | undefined

  readonly note: OnAway = (partition, error) => {
    this.#partitions.push(partition)
    this.#error ??= error
  }

  /** Undefined if none is away. */
  get failure(): TransientError | undefined {
    if (this.#error === undefined) return undefined
    const { message, code } = this.#error
    return new TransientError(`${lacksText(this.#partitions)}: ${message}`, {
      code: code === 'store_refused' ? code : 'store_unavailable',
      cause: this.#error,
    })
  }
}
