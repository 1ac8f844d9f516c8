/** All keys of a namespace, read at once and decoded as far as rules over them need it. Meant for a namespace at rest. */
import type { Redis } from 'ioredis'
import { decodeEntry, type Entry } from '../../src/core/history/entry.ts'
import { sessionIdOfRoot } from '../../src/core/ids.ts'
import { decodeMail, type Lane, type Mail } from '../../src/core/worker/message/message.ts'
import { readEntries } from '../../src/store/history/read-entries.ts'
import { partitionKeys, rootKey, sessionKeys, tagOf, workerKeys } from '../../src/store/keys.ts'
import { namedFields, namedSessionFields } from './record-fields.ts'

export interface WorkerSnapshot {
  readonly id: string
  readonly record: Readonly<Record<string, string>>
  readonly history: readonly Entry[]
  readonly mail: Readonly<Record<Lane, readonly Mail[]>>
  readonly failure: string | null
  readonly timers: readonly string[]
}

export interface SessionSnapshot {
  readonly id: string
  readonly record: Readonly<Record<string, string>>
  readonly children: readonly string[]
  readonly cancelled: readonly string[]
}

export interface Snapshot {
  readonly workers: ReadonlyMap<string, WorkerSnapshot>
  readonly sessions: ReadonlyMap<string, SessionSnapshot>
  /** Ids in the run queue of any pool. */
  readonly queued: readonly string[]
  readonly leased: readonly string[]
  /** The timers, each as `<worker>:<timer>`. */
  readonly timers: readonly string[]
  readonly cancelling: readonly string[]
  /** Inputs that were quarantined; if one was put back, the worker has another one. */
  readonly dead: readonly { readonly worker: string; readonly mail: Mail; readonly isRedriven: boolean }[]
}

/** A record holds only what differs from the start. */
const recordStart = { run: '1', version: '0', open: '0', runState: 'Idle', wait: 'any', token: '', commit: '' }
const sessionStart = { state: 'active', workers: '1' }
const lanes: readonly Lane[] = ['signals', 'results', 'inbox']

export async function takeSnapshot(redis: Redis, namespace: string): Promise<Snapshot> {
  const tag = tagOf(namespace, 0)
  const keys = partitionKeys(tag)
  const found = await allKeys(redis, `${tag}:*`)
  const workerIds = found.flatMap((key) => idIn(key, `${tag}:w:`))
  const redriven = await redis.zrange(keys.redriven, 0, '-1')
  const pools = found.filter((key) => key.startsWith(`${tag}:run:`))
  const workers = new Map(
    await Promise.all(workerIds.map(async (id) => [id, await readWorker(redis, tag, id)] as const)),
  )
  const roots = [...workers.values()].filter(({ record }) => record.session === undefined)
  const sessionIds = roots.map(({ id }) => sessionIdOfRoot(id))
  return {
    workers,
    sessions: new Map(
      await Promise.all(sessionIds.map(async (id) => [id, await readSession(redis, tag, id)] as const)),
    ),
    queued: (await Promise.all(pools.map((key) => redis.zrange(key, 0, '-1')))).flat(),
    leased: await redis.zrange(keys.leases, 0, '-1'),
    timers: await redis.zrange(keys.timers, 0, '-1'),
    cancelling: await redis.smembers(keys.cancelling),
    dead: (await redis.xrange(keys.dead, '-', '+')).flatMap(([id, flat]) => {
      const field = (name: string) => flat[flat.indexOf(name) + 1] as string
      // A letter without a mail is evidence alone: the message that was received stands in the history.
      if (!flat.includes('mail')) return []
      const mail = decodeMail('inbox', 0, field('mail'))
      return [{ worker: field('worker'), mail, isRedriven: redriven.some((mark) => mark.startsWith(`${id} `)) }]
    }),
  }
}

async function allKeys(redis: Redis, pattern: string): Promise<string[]> {
  const found = new Set<string>()
  for await (const page of redis.scanStream({ match: pattern, count: 1_000 }))
    for (const key of page as string[]) found.add(key)
  return [...found]
}

/** The id in the name of a record, or nothing where the key is another one. */
function idIn(key: string, prefix: string): string[] {
  const id = key.slice(prefix.length)
  return key.startsWith(prefix) && !id.includes(':') ? [id] : []
}

async function readWorker(redis: Redis, tag: string, id: string): Promise<WorkerSnapshot> {
  const keys = workerKeys(tag, id)
  const [record, history, failure, timers, ...mail] = await Promise.all([
    redis.hgetall(keys.record),
    readEntries(redis, keys.log, 0, -1),
    redis.get(keys.failure),
    redis.hkeys(keys.timers),
    ...lanes.map((lane) => redis.lrange(keys[lane], 0, -1)),
  ])
  const decoded = lanes.map((lane, index) => {
    const base = Number(record[lane] ?? 0)
    const texts = mail[index] ?? []
    return [lane, texts.flatMap((text, at) => (text === '' ? [] : [decodeMail(lane, base + at, text)]))] as const
  })
  return {
    id,
    record: { ...recordStart, ...namedFields(record) },
    history: history.map(decodeEntry),
    mail: Object.fromEntries(decoded) as unknown as WorkerSnapshot['mail'],
    failure,
    timers,
  }
}

async function readSession(redis: Redis, tag: string, id: string): Promise<SessionSnapshot> {
  const keys = sessionKeys(tag, id)
  const [record, children, cancelled] = await Promise.all([
    redis.hgetall(rootKey(tag, id)),
    redis.lrange(keys.workers, 0, -1),
    redis.smembers(keys.cancelled),
  ])
  return { id, record: { ...sessionStart, ...namedSessionFields(record) }, children, cancelled }
}
