/** Duty: answer a list while partitions of a cluster are away: with what the others have, and `away`, which names those that it lacks. */
import type { OnAway } from '../client/fleet/each-partition.ts'

export async function withAway<List extends object>(
  list: (onAway: OnAway) => Promise<List>,
): Promise<List & { readonly away: readonly number[] }> {
  const away: number[] = []
  const found = await list((partition) => void away.push(partition))
  return { ...found, away }
}
