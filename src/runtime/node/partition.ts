/** Duty: what a node keeps of one partition. */
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
  /** By slot: the nonce of its last claim, while that has no answer. No Map: it changes with each turn. */
  readonly unanswered: (string | undefined)[]
  readonly times: TurnTimes
  readonly renewer: Renewer
  readonly sweeper: Sweeper
}

/** For the next claim of a slot: a new one, but where its last claim was never answered (decision 0015). */
export function nonceOf({ unanswered }: Partition, slot: number): string {
  const nonce = unanswered[slot] ?? newNonce()
  unanswered[slot] = nonce
  return nonce
}
