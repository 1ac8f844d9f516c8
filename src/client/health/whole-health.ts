/**
 * Duty: read the health of a whole namespace, of the partitions that answer.
 * WHOLE-HEALTH-1 While a partition of a cluster is away, it reads the others, and says which one is missing. Only without the first one nobody can tell
 *     how the namespace stands: it has what is kept once for all.
 */
import { readPausedDeliveries } from '../../notify/delivery-queue.ts'
import type { AuditStore } from '../../store/audit/audit-store.ts'
import type { InspectStore } from '../../store/audit/inspect-store.ts'
import type { Places } from '../../store/places.ts'
import { lookAtCluster } from '../../store/redis/cluster-look.ts'
import type { Connections } from '../../store/redis/connections.ts'
import { guarded } from '../../store/redis/guarded.ts'
import { readSubmissionQueue } from '../../submit/submission-queue.ts'
import { readPausedWakeups } from '../../wake/queue-tidier.ts'
import { ofEach } from '../fleet/each-partition.ts'
import type { Register } from '../fleet/register.ts'
import { SessionIndex } from '../session/session-index.ts'
import type { Webhooks } from '../webhook/webhooks.ts'
import { type Health, readHealth } from './health.ts'
import { lookForHoldups } from './held-up.ts'
import { lookAtNewest } from './stranded.ts'

export interface WholeHealthSettings {
  readonly connections: Connections
  readonly places: Places
  readonly inspect: readonly InspectStore[]
  readonly audits: readonly AuditStore[]
  readonly register: Register
  readonly webhooks: Webhooks
  readonly storeOf: (id: string) => InspectStore
  readonly deadlineMs: number
}

export async function wholeHealth(settings: WholeHealthSettings): Promise<Health> {
  const { connections, places, inspect, audits, register, webhooks, storeOf, deadlineMs } = settings
  // Meanwhile: both may have to wait for a server that is away.
  const looking = lookAtCluster(connections, places.all)
  looking.catch(() => {})
  const away = await awayAmong(inspect)
  const isHere = ({ partition }: { readonly partition: number }) => !away.includes(partition)
  const [here, stores] = [places.all.filter(isHere), inspect.filter(isHere)]
  const { redis, prefix } = places.first
  const read = async (now: number, pools: readonly string[]) => ({
    submissions: await Promise.all(here.map((place) => readSubmissionQueue(place.redis, place, now))),
    pausedWakeups: await readPausedWakeups(
      here.map((place) => ({ connection: place.redis, prefix: place.prefix })),
      pools,
    ),
    pausedDeliveries: await readPausedDeliveries(redis, prefix),
  })
  const queues = (now: number, pools: readonly string[]) =>
    guarded("looking at BullMQ's queues", () => read(now, pools), deadlineMs)
  const { live, stalled: stalledNodes } = await register.bySight()
  const health = await readHealth(stores, live, await register.kinds(), queues)
  const index = new SessionIndex(stores, storeOf)
  const [heldUp, newest] = [await lookForHoldups(index), await lookAtNewest(index, audits)]
  const failingWebhooks = (await webhooks.list()).filter(({ state }) => state === 'failing')
  return { ...health, cluster: await looking, away, stalledNodes, failingWebhooks, ...heldUp, ...newest }
}

/** The partitions that do not answer. Throws if the first one is among them. */
async function awayAmong(stores: readonly InspectStore[]): Promise<readonly number[]> {
  const away: number[] = []
  const ask = (store: InspectStore) => store.now()
  await ofEach(stores, ask, (partition, error) => {
    if (partition === 0) throw error
    away.push(partition)
  })
  return away
}
