/**
 * Duty: what a node does for notices: it reads what happened, and sends it to where the notice goes.
 * TELLING-1 An endpoint is told of what happened in a partition since it listens there, and of nothing before.
 * TELLING-2 Where a session itself sends its end (`notify`), and what endpoints are told, are separate notices: if one cannot be told, the other still is.
 */
import type { WorkerLog } from '../../core/definition/worker-log.ts'
import { partitionOf } from '../../core/ids.ts'
import { wants } from '../../core/webhook/endpoint.ts'
import { type Notice, parseNotice } from '../../core/webhook/notice.ts'
import { type QueueConnections, ResultTeller, type WebhookSettings } from '../../notify/result-teller.ts'
import { InspectStore } from '../../store/audit/inspect-store.ts'
import { EndpointStore } from '../../store/endpoint-store.ts'
import { AskStore } from '../../store/person/ask-store.ts'
import { LetterStore } from '../../store/person/letter-store.ts'
import type { Places } from '../../store/places.ts'
import { guardedReads } from '../../store/redis/guarded.ts'
import { followsSlot } from '../../store/redis/redis.ts'
import { readEnd } from '../session/run/read-notice.ts'
import { type HappeningStores, readHappening } from './happening.ts'
import { NoticeQueue } from './notice-queue.ts'

export interface Telling {
  /** `notice`: the text among the timers. */
  readonly tell: (notice: string) => Promise<void>
  stop(): Promise<void>
}

/** How often a node that sends no requests looks whether there are endpoints. */
const lookEveryMs = 5_000
/** An endpoint that listens for longer than this and is not in the register was left by a removal that did not end. */
const leftMs = 60_000

export function telling(
  places: Places,
  connections: QueueConnections,
  {
    webhooks = {},
    log,
    deadlineMs,
  }: { readonly webhooks: WebhookSettings | undefined; readonly log: WorkerLog; readonly deadlineMs: number },
): Telling {
  const stores = places.map(
    ({ keys, partition, redis }): HappeningStores => ({
      inspect: guardedReads(new InspectStore(redis, keys, partition, places.first), deadlineMs),
      asks: guardedReads(new AskStore(redis, keys), deadlineMs),
      letters: guardedReads(new LetterStore(redis, keys), deadlineMs),
    }),
  )
  const endpoints = new EndpointStore(places.all, deadlineMs)
  const { keys, prefix, redis } = places.first
  const where = { tag: keys.tag, prefix, isCluster: followsSlot(redis) }
  const endpointOf = async (id: string) => (await endpoints.get(id))?.record ?? null
  const teller = new ResultTeller(connections, where, webhooks, endpointOf, log)
  const look = () =>
    endpoints.hasSome().then(
      (hasSome) => {
        if (!hasSome) return
        clearInterval(looking)
        teller.takePart()
      },
      () => {},
    )
  const looking = setInterval(() => void look(), lookEveryMs).unref()
  void look()
  const queue = new NoticeQueue(async (text) => {
    const notice = parseNotice(text)
    if (notice?.of === 'own') await tellOwn(notice.sessionId, stores, teller)
    else if (notice !== null) await tellEndpoints(notice, partitionIn(notice), { stores, endpoints, teller })
  })
  return {
    tell: (notice) => queue.add(notice),
    stop() {
      clearInterval(looking)
      queue.stop()
      return teller.stop()
    },
  }
}

/** Tells the end of a session where the session says. */
async function tellOwn(sessionId: string, stores: readonly HappeningStores[], teller: ResultTeller): Promise<void> {
  const end = await readEnd((stores[partitionOf(sessionId)] as HappeningStores).inspect, sessionId)
  if (end?.session.notify) await teller.tell(end.session.notify, end.id, end.notice)
}

type OfEndpoints = Exclude<Notice, { of: 'own' }>

function partitionIn(notice: OfEndpoints): number {
  if (notice.of === 'end') return partitionOf(notice.sessionId)
  return partitionOf(notice.of === 'ask' ? notice.askId : notice.workerId)
}

async function tellEndpoints(
  notice: OfEndpoints,
  partition: number,
  {
    stores,
    endpoints,
    teller,
  }: { readonly stores: readonly HappeningStores[]; readonly endpoints: EndpointStore; readonly teller: ResultTeller },
): Promise<void> {
  const listeners = await endpoints.listeners(partition)
  const happening = listeners.size === 0 ? null : await readHappening(notice, stores[partition] as HappeningStores)
  if (happening === null) return
  const records = new Map((await endpoints.list()).map(({ id, record }) => [id, record]))
  const { id: noticeId, type, at, ids, more } = happening
  for (const [id, since] of listeners) {
    const record = records.get(id)
    if (record === undefined && at > since + leftMs) await endpoints.listen(id, false, partition)
    if (!record?.isEnabled || at < since || !wants(record, happening)) continue
    const data = record.include === 'result' ? { ...ids, ...more } : ids
    const body = JSON.stringify({ type, timestamp: new Date(at).toISOString(), data })
    await teller.tellEndpoint(id, noticeId, { type, body })
  }
}
