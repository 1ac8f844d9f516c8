/** Duty: what a node keeps for one partition. */
import type { OutboxStore } from '../../core/ports/outbox.ts'
import type { BlobStore, TurnStore } from '../../core/ports/ports.ts'
import type { UpkeepStore } from '../../core/ports/upkeep.ts'
import type { ClaimNonces } from '../slot/nonces.ts'
import type { TurnTimes } from '../slot/turn-times.ts'
import type { Carrier } from '../upkeep/carrier.ts'
import type { Renewer } from '../upkeep/renewer.ts'
import type { Sweeper } from '../upkeep/sweeper.ts'

export interface PartitionStores {
  readonly turns: TurnStore
  readonly upkeep: UpkeepStore
  readonly blobs: BlobStore
  readonly outbox: OutboxStore
}

export interface Partition extends PartitionStores {
  readonly nonces: ClaimNonces
  readonly times: TurnTimes
  readonly renewer: Renewer
  readonly sweeper: Sweeper
  readonly carry: Carrier
  /** True while all sessions of the partition are paused: this node claims nothing there. */
  isPaused: boolean
}
