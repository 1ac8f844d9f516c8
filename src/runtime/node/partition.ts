/** Duty: what a node keeps for one partition. */
import type { TurnStore, UpkeepStore } from '../../core/ports/ports.ts'
import { newNonce } from '../slot/nonce.ts'
import type { TurnTimes } from '../slot/turn-times.ts'
import type { Renewer } from '../upkeep/renewer.ts'
import type { Sweeper } from '../upkeep/sweeper.ts'

export interface PartitionStores {
  readonly turns: TurnStore
  readonly upkeep: UpkeepStore
}

export interface Partition extends PartitionStores {
  /** The nonce of each slot's last claim, while that has no answer. An array, because a Map that changes with each turn makes garbage. */
  readonly unanswered: (string | undefined)[]
  readonly times: TurnTimes
  readonly renewer: Renewer
  readonly sweeper: Sweeper
}

/** The nonce for the next claim of a slot: a new one, unless its last claim got no answer (SLOT-2). */
export function nonceOf({ unanswered }: Partition, slot: number): string {
  const nonce = unanswered[slot] ?? newNonce()
  unanswered[slot] = nonce
  return nonce
}
