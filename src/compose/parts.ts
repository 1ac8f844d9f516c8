/** Duty: what a node is made of: its stores in each partition, and the node itself. */
import { hostname } from 'node:os'
import type { WorkerLog } from '../core/definition/worker-log.ts'
import type { Policy } from '../core/policy.ts'
import type { TurnStore } from '../core/ports/ports.ts'
import type { Telemetry } from '../core/ports/telemetry.ts'
import type { Permissions } from '../core/worker/permissions.ts'
import type { Kind } from '../runtime/node/kind.ts'
import { type NodeOptions, RuntimeNode } from '../runtime/node/node.ts'
import type { PartitionStores } from '../runtime/node/partition.ts'
import { RedisBlobStore } from '../store/blob-store.ts'
import type { RedisLivePublisher } from '../store/event/live-channel.ts'
import { RedisOutboxStore } from '../store/outbox-store.ts'
import type { Places } from '../store/places.ts'
import { GuestStore } from '../store/turn/guest-store.ts'
import { RedisTurnStore } from '../store/turn/turn-store.ts'
import { RedisUpkeepStore } from '../store/upkeep-store.ts'

/** What a node is made of, before any of it runs. */
export interface Parts {
  readonly id: string
  readonly namespace: string
  readonly policy: Policy
  /** How long the node waits until it listens to what it is told: no less than any of its calls. */
  readonly patienceMs: number
  readonly log: WorkerLog
  readonly live: RedisLivePublisher
  readonly places: Places
  readonly kinds: ReadonlyMap<string, Kind>
  readonly kindsByPool: ReadonlyMap<string, readonly string[]>
  readonly concurrency: number
  readonly permissions: Permissions | null
  /** Whether it has a secret, with which it signs results that sessions send to an address. */
  readonly signs: boolean
  readonly aroundTurns: (turns: TurnStore) => TurnStore
  readonly telemetry: Telemetry
}

export function nodeOf(
  parts: Parts,
  stores: readonly PartitionStores[],
  lent: Pick<NodeOptions, 'waker' | 'tell' | 'onRegister'>,
): RuntimeNode {
  const { id, policy, kinds, concurrency, permissions, log, live, telemetry } = parts
  return new RuntimeNode({ id, kinds, concurrency, policy, permissions, stores, live, log, telemetry, ...lent })
}

/** What the node has in each partition, in a list that grows with them. `carry`: a commit in this partition sent to another one. */
export function storesOf(parts: Parts, carry: (partition: number) => void): readonly PartitionStores[] {
  const { id, policy, kinds } = parts
  const namesOf = (is: (kind: Kind) => boolean) => new Set([...kinds.values()].filter(is).map(({ name }) => name))
  const [childless, withOnCancel] = [namesOf((kind) => kind.isChildless), namesOf((kind) => kind.hasOnCancel)]
  const guests = new GuestStore(parts.places.all, policy)
  return parts.places.map((place) => {
    const { partition, keys, redis, caller } = place
    const onSentOut = () => carry(partition)
    const own = { redis, caller, keys, partition, nodeId: id, policy, guests }
    return {
      turns: parts.aroundTurns(
        new RedisTurnStore({ ...own, kinds: parts.kindsByPool, childless, withOnCancel, onSentOut }),
      ),
      upkeep: new RedisUpkeepStore({
        ...own,
        nodeFacts: { pid: process.pid, host: hostname(), startedAt: Date.now(), signs: parts.signs },
      }),
      blobs: new RedisBlobStore({ ...own, deadlineMs: policy.leaseMs }),
      outbox: new RedisOutboxStore(place, parts.places.all, policy),
    }
  })
}
