/**
 * Duty: take turns away from a node that dies or stands still (release.lua), so that others go on with them before their leases end.
 * RELEASE-1 A turn is taken only while it has the token that was read. Later commits of its node are fenced.
 */
import type { PartitionKeys } from '../keys.ts'
import type { ScriptCaller } from '../script/script.ts'
import { releaseScript } from '../script/scripts.ts'
import { newSeed } from '../wakeups.ts'

/** A turn that is taken away, in the form of the script. */
export type TakenTurn = {
  readonly worker: string
  readonly token: string
  /** The start counts, since code of this worker may be the cause. */
  readonly isCounted: boolean
  readonly isIsolated: boolean
}

export interface TurnsRelease {
  readonly node: string
  readonly wakeupMs: number
  /** True if the node ends or stands still: its turns are taken away. Otherwise the script only keeps the last words. */
  readonly ends: boolean
  /** The last words of the node; empty: none. */
  readonly words: string
  /** The worker whose code is the cause, also if its turn is over. */
  readonly author: string | undefined
  readonly turns: readonly TakenTurn[]
}

/** How many turns one script takes away: a node may have ten thousand. */
const turnsMost = 200

/** Returns how many of the turns the node held until now. */
export async function releaseTurns(
  caller: ScriptCaller,
  { leases, nodes, events }: PartitionKeys,
  { ends, turns, ...release }: TurnsRelease,
  deadlineMs: number,
): Promise<number> {
  const event = ends ? 'worker.interrupted' : 'worker.blocked'
  let held = 0
  // Also without any turn, the node leaves and its last words are kept.
  for (let from = 0; from === 0 || from < turns.length; from += turnsMost) {
    const some = turns.slice(from, from + turnsMost)
    const args = { ...release, ends, event, seed: newSeed(), turns: some }
    const [count] = await caller.call(releaseScript, { leases, nodes, events }, args, { deadlineMs })
    held += Number(count)
  }
  return held
}
