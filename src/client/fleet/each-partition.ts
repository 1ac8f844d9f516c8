/** Duty: ask all partitions at once, and do without those that are away, if the caller takes that. */
import type { Rule } from '../../core/check/check-options.ts'
import { TransientError } from '../../core/errors.ts'

/** Called for a partition that is away: the answer is of the others alone. */
export type OnAway = (partition: number, error: TransientError) => void

export const onAwayRule: Rule = { expects: 'a function', fits: (value) => typeof value === 'function' }

/**
 * What each partition answers. `stores`: one for each, in their order. Throws the error of a partition that is away, unless there is `onAway`; and in
 * any case if none answers.
 */
export async function ofEach<Store, Found>(
  stores: readonly Store[],
  ask: (store: Store) => Promise<Found>,
  onAway?: OnAway,
): Promise<Found[]> {
  if (onAway === undefined) return Promise.all(stores.map(ask))
  const settled = await Promise.allSettled(stores.map(ask))
  const isNoneHere = settled.every(({ status }) => status === 'rejected')
  return settled.flatMap((one, partition) => {
    if (one.status === 'fulfilled') return [one.value]
    if (isNoneHere || !(one.reason instanceof TransientError)) throw one.reason
    onAway(partition, one.reason)
    return []
  })
}
