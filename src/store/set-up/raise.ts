/**
 * Duty: raise the number of partitions of a namespace, whether it is in use or not.
 * RAISE-1 Sessions stay where they are, as their ids say. What is created from then on goes to the new partitions, too.
 * RAISE-2 A key of a caller creates one session. Before anybody learns the new number, every partition refuses to create a session under a key for a
 * caller that knows the old one (create-sessions.lua). A caller that knows the new number looks where the key led before.
 * RAISE-3 The new number is published last, at one moment. A raise that stopped half way is finished by another raise to the same number.
 * RAISE-4 Nodes that run look for it when the version of the register of kinds changes, which they read with each sweep: the raise changes it. Clients look
 *     every few seconds, and when they are refused.
 * RAISE-5 What was paused, resumed or made to listen since the new partitions were prepared, by somebody who knew the old number, is brought to them after
 *     the new number was published. Whoever does it later knows the new number. Until it was brought, `unsettled` of the first partition has the pause that
 *     the new partitions were prepared with: the next raise, also to the same number, brings it first.
 */
import { ConfigError } from '../../core/errors.ts'
import { partitionsMax } from '../../core/ids.ts'
import { EndpointStore } from '../endpoint-store.ts'
import { endpointKeys, partitionKeys, tagOf } from '../keys.ts'
import { type OpenPlace, Places } from '../places.ts'
import type { Connections } from '../redis/connections.ts'
import { guarded } from '../redis/guarded.ts'
import type { Redis } from '../redis/redis.ts'
import { StoredDamage } from '../redis/store-error.ts'
import { checkEach } from './namespace.ts'
import { schemaVersion } from './set-up.ts'

/** Returns how many partitions there were before. */
export async function raisePartitions(
  connections: Connections,
  namespace: string,
  to: number,
  deadlineMs: number,
): Promise<number> {
  const first = connections.at(tagOf(namespace, 0))
  const { meta } = partitionKeys(tagOf(namespace, 0))
  const doing = <T>(what: () => Promise<T>) => guarded('raising the number of partitions', what, deadlineMs)
  const from = Number(await doing(() => first.hget(meta, 'partitions')))
  refuse(namespace, from, to)
  const isSettled = (await doing(() => first.hexists(meta, 'unsettled'))) === 0
  const before = isSettled ? from : await settle(first, meta, new Places(connections, namespace, from).all, deadlineMs)
  if (from === to) return before
  // Everything that the servers must allow is checked before anything is written.
  await checkEach(connections, namespace, to, deadlineMs)
  await doing(() => begin(first, meta, to))
  const places = new Places(connections, namespace, to).all
  const fresh = places.slice(from)
  const note = await doing(() => first.hget(meta, 'paused'))
  for (const place of fresh) await doing(() => prepare(place, to, note))
  await listen(places, from, deadlineMs)
  for (const { redis, keys } of places.slice(1, from)) await doing(() => redis.hset(keys.meta, 'partitions', to))
  await doing(() => tell(first, meta, from, to, note))
  return settle(first, meta, places, deadlineMs)
}

/** Ends the last raise (RAISE-5). `places`: all that there are now. Returns how many there were before. */
async function settle(first: Redis, meta: string, places: readonly OpenPlace[], deadlineMs: number): Promise<number> {
  const doing = <T>(what: () => Promise<T>) => guarded('settling new partitions', what, deadlineMs)
  const from = (await doing(() => earlierPartitions(first, meta))).at(-1)?.partitions ?? places.length
  const note = (await doing(() => first.hget(meta, 'unsettled'))) || null
  await doing(() => settlePause(first, meta, places.slice(from), note))
  await listen(places, from, deadlineMs)
  await doing(() => first.hdel(meta, 'unsettled'))
  return from
}

/** The numbers of partitions that a namespace had before, each with the time in ms when that ended. `meta`: of its first partition. */
export async function earlierPartitions(
  first: Redis,
  meta: string,
): Promise<readonly { readonly partitions: number; readonly until: number }[]> {
  const text = (await first.hget(meta, 'raised')) ?? ''
  if (!/^(\d+:\d+ ?)*$/.test(text)) throw new StoredDamage(`field raised of ${meta} should be numbers and times`)
  return [...text.matchAll(/(\d+):(\d+)/g)].map(([, partitions, until]) => ({
    partitions: Number(partitions),
    until: Number(until),
  }))
}

function refuse(namespace: string, from: number, to: number): void {
  if (from === 0) {
    throw new ConfigError(
      `nothing was ever started in namespace "${namespace}": its first node or client sets the number of partitions (--partitions).`,
    )
  }
  if (!Number.isInteger(to) || to < 1 || to > partitionsMax)
    throw new ConfigError(`the number of partitions must be a whole number from 1 to ${partitionsMax}, not ${to}.`)
  if (to < from) {
    throw new ConfigError(
      `namespace "${namespace}" has ${from} partitions, and their number only grows: sessions stay in the partition that their ids name.`,
    )
  }
}

async function begin(first: Redis, meta: string, to: number): Promise<void> {
  await first.hsetnx(meta, 'raising', to)
  const begun = await first.hget(meta, 'raising')
  if (begun !== String(to))
    throw new ConfigError(
      `a raise to ${begun} partitions was begun: finish it with \`troupe partition raise ${begun}\`.`,
    )
}

/** A new partition is paused if all are, and only then: an earlier raise that stopped half way may have left a pause there. */
async function prepare({ redis, keys }: OpenPlace, to: number, note: string | null): Promise<void> {
  await redis.hset(keys.meta, { schema: schemaVersion, partitions: to, ...(note === null ? {} : { paused: note }) })
  if (note === null) await redis.hdel(keys.meta, 'paused')
}

/** A pause that changed since the new partitions were prepared (RAISE-5). `note`: the pause that they have; null: none. */
async function settlePause(
  first: Redis,
  meta: string,
  fresh: readonly OpenPlace[],
  note: string | null,
): Promise<void> {
  for (let before = note; ; ) {
    const now = await first.hget(meta, 'paused')
    if (now === before) return
    for (const { redis, keys } of fresh) {
      // Only the former pause is taken away: a new one may be there already.
      if (before !== null && (await redis.hget(keys.meta, 'paused')) === before) await redis.hdel(keys.meta, 'paused')
      if (now !== null) await redis.hsetnx(keys.meta, 'paused', now)
    }
    before = now
  }
}

/** Endpoints are told of the new partitions from the beginning. */
async function listen(places: readonly OpenPlace[], from: number, deadlineMs: number): Promise<void> {
  const [{ redis, keys }] = places as [OpenPlace]
  const store = new EndpointStore(places, deadlineMs)
  const read = () => redis.zrange(endpointKeys(keys.tag).since, 0, '-1')
  for (const id of await guarded('reading who is told', read, deadlineMs))
    for (const { partition } of places.slice(from)) await store.listen(id, true, partition)
}

async function tell(first: Redis, meta: string, from: number, to: number, note: string | null): Promise<void> {
  const [[seconds], [raised, version]] = await Promise.all([first.time(), first.hmget(meta, 'raised', 'kinds')])
  const all = `${raised ? `${raised} ` : ''}${from}:${Number(seconds) * 1_000}`
  // RAISE-4: no earlier version is as high, whether it was counted or began with a time.
  const kinds = Math.max(Number(version) || 0, Number(seconds) * 1_000) + 1
  const told = { partitions: to, raised: all, kinds, unsettled: note ?? '' }
  const results = await first.multi().hset(meta, told).hdel(meta, 'raising').exec()
  for (const [error] of results ?? []) if (error) throw error
}
