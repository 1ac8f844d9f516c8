/** Duty: what a node listens to in the partitions that it has when it starts, and in those that come later. */
import { nodeSummaries } from '../client/fleet/node-summaries.ts'
import { openSubmission } from '../client/session/submitted-job.ts'
import { Growth } from '../runtime/node/growth.ts'
import type { RuntimeNode } from '../runtime/node/node.ts'
import type { Listener } from '../runtime/node/running-node.ts'
import { InspectStore } from '../store/audit/inspect-store.ts'
import { hearFollowers } from '../store/event/followed-sessions.ts'
import type { Place } from '../store/keys.ts'
import { hearChanges } from '../store/person/cancel-notices.ts'
import type { OpenPlace } from '../store/places.ts'
import { ReadStore } from '../store/read-store.ts'
import { hearChannels, type ListenAt } from '../store/redis/channels.ts'
import type { Connections } from '../store/redis/connections.ts'
import { orElse } from '../store/script/replies.ts'
import { checkEach } from '../store/set-up/namespace.ts'
import { partitionsNow } from '../store/set-up/set-up.ts'
import { SubmissionListener } from '../submit/submission-queue.ts'
import type { BullWaker } from '../wake/bull-waker.ts'
import { NodeWakeups } from '../wake/node-wakeups.ts'
import type { QueuePlace } from '../wake/wakeup-queue.ts'
import type { Parts } from './parts.ts'

/** `work`: begins to work in all partitions from this one on. */
export function growthOf(
  { places, namespace, policy, patienceMs, log }: Parts,
  connections: Connections,
  work: (from: number) => Promise<void>,
): Growth {
  return new Growth({
    count: () => partitionsNow(places.first, patienceMs),
    known: () => places.all.length,
    open: async (partitions) => {
      await checkEach(connections, namespace, partitions, patienceMs)
      const before = places.all.length
      places.grow(partitions)
      await work(before)
    },
    goodbyeMs: policy.goodbyeMs,
    log,
  })
}

/**
 * Listens in the partitions in which nothing is listened to yet. Where it fails, the next call goes on. `wakeups`: for wake-ups, in all from this one on;
 * once they have begun, their listeners come back by themselves.
 */
export function hearing(
  { places, live, patienceMs }: Parts,
  connections: Connections,
  node: RuntimeNode,
  wakeups: (from: number) => Promise<void>,
): (until: number) => Promise<void> {
  const listenAt = (channel: string) => connections.at(channel, 'subscriber')
  const onFollower = ({ partition }: Place, announcement: string) => {
    const sessionId = live.followed.note(announcement)
    if (sessionId !== null) node.tellFollower(partition, sessionId)
  }
  let [awake, heard] = [0, 0]
  return async (until) => {
    if (awake < until) {
      const from = awake
      awake = until
      await wakeups(from)
    }
    const fresh = places.all.slice(heard, until)
    await hearFollowers(listenAt, fresh, onFollower, patienceMs)
    await hearChanges(listenAt, fresh, (place, id) => void node.learnOfChange(place.partition, id), patienceMs)
    heard = until
  }
}

interface Listening {
  readonly queues: readonly (OpenPlace & QueuePlace)[]
  readonly waker: BullWaker
  readonly learn: () => Promise<void>
}

/** Wake-ups of this node's pools in each of these partitions; submissions, if the first partition is among them. */
export function listenersOf(
  parts: Parts,
  { queues, waker, learn }: Listening,
  listenAt: ListenAt,
  node: RuntimeNode,
): readonly Listener[] {
  const { id, places, kindsByPool, concurrency: slots, log, namespace, policy, patienceMs } = parts
  const [first] = queues as readonly [OpenPlace & QueuePlace]
  const wakeups = new NodeWakeups({
    hear: (handlers) => hearChannels(listenAt, handlers, 'wake-ups', patienceMs),
    places: queues.map((place) => ({ ...place, channel: (pool) => place.keys.wake(pool, id) })),
    pools: [...kindsByPool.keys()],
    otherPools: async () =>
      (await orElse(new ReadStore(first.redis, first.keys).poolsEverHosted(), [])).filter(
        (pool) => !kindsByPool.has(pool),
      ),
    isDeserted: async (partition, pool) => {
      const { redis, keys } = places.all[partition] as OpenPlace
      return Number((await redis.get(keys.slots(pool))) ?? 0) === 0
    },
    slots,
    onWake: (partition, wakeup) => node.wake(partition, wakeup),
    waker,
    log,
  })
  if (first.partition > 0) return [wakeups]
  const store = new InspectStore(first.redis, first.keys, first.partition)
  const nodes = async () => (await nodeSummaries(store)).live
  const submit = openSubmission({ places, learn, namespace, waker, policy, nodes })
  return [wakeups, new SubmissionListener(first.connection, first.prefix, submit, log)]
}
