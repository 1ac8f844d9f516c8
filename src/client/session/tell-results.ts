/** Duty: what a node does for the results of sessions that go somewhere: it reads them, and has them told. */
import type { WorkerLog } from '../../core/definition/worker-log.ts'
import { partitionOf } from '../../core/ids.ts'
import { ResultTeller, type WebhookSettings } from '../../notify/result-teller.ts'
import { InspectStore } from '../../store/audit/inspect-store.ts'
import type { Place } from '../../store/keys.ts'
import { guardedReads } from '../../store/redis/guarded.ts'
import { followsSlot, type Redis } from '../../store/redis/redis.ts'
import { readNotice } from './read-notice.ts'

export interface ResultTelling {
  tell(sessionId: string): Promise<void>
  stop(): Promise<void>
}

/** `queueAt`: a connection for BullMQ, to where the keys with this tag or prefix are. It stays the caller's. */
export function resultTelling(
  places: readonly (Place & { readonly redis: Redis })[],
  queueAt: (tag: string) => Redis,
  {
    webhooks = { secrets: [] },
    log,
    deadlineMs,
  }: { readonly webhooks: WebhookSettings | undefined; readonly log: WorkerLog; readonly deadlineMs: number },
): ResultTelling {
  const stores = places.map(({ keys, partition, redis }) =>
    guardedReads(new InspectStore(redis, keys, partition), deadlineMs),
  )
  const { keys, prefix, redis } = places[0] as Place & { readonly redis: Redis }
  const teller = new ResultTeller(queueAt, { tag: keys.tag, prefix, isCluster: followsSlot(redis) }, webhooks, log)
  return {
    async tell(sessionId) {
      const found = await readNotice(stores[partitionOf(sessionId)] as InspectStore, sessionId)
      if (found !== null) await teller.tell(found.notify, found.id, found.notice)
    },
    stop: () => teller.stop(),
  }
}
