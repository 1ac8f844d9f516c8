/**
 * Duty: read what parked workers have asked and nobody has answered, and how many such asks sessions have. It never writes.
 * OPEN-ASKS-1 Each read is bounded, however many asks a worker or a session has: the count is exact, and the asks beside it are some of them.
 */
import { type AskSort, askSorts, decodeAskBody } from '../../core/worker/ask/ask.ts'
import { askKey, type PartitionKeys, sessionKeys, workerKeys } from '../keys.ts'
import type { Redis } from '../redis/redis.ts'
import { orElse, repliesOf, scored } from '../script/replies.ts'

export interface OpenAsk {
  readonly id: string
  readonly kind: AskSort
  /** The question, or the name of the signal. */
  readonly question: string
  readonly askedAt: number
}

/** What a parked worker waits for beside results. */
export interface OpenSignals {
  readonly timers: number
  readonly asks: number
  /** Some of the asks, the oldest first. */
  readonly some: readonly OpenAsk[]
}

export const noSignals: OpenSignals = { timers: 0, asks: 0, some: [] }

/** How many asks of one worker are read. */
const someMax = 10
/** How many asks of one session a list looks at: the newest ones. */
const ofSessionMax = 50

/** The rows are in the order of `ids`. */
export async function openSignalsOf(redis: Redis, tag: string, ids: readonly string[]): Promise<OpenSignals[]> {
  const reading = redis.pipeline()
  for (const id of ids) {
    const keys = workerKeys(tag, id)
    reading.hlen(keys.timers).scard(keys.asks).srandmember(keys.asks, someMax)
  }
  const found = await repliesOf(reading)
  const asked = ids.map((_, index) => listOr(found[index * 3 + 2]))
  const bodies = redis.pipeline()
  for (const id of asked.flat()) bodies.hmget(askKey(tag, id), 'sort', 'body', 'at')
  const records = await repliesOf(bodies)
  let next = 0
  return asked.map((asks, index) => ({
    timers: numberOr(found[index * 3]),
    asks: numberOr(found[index * 3 + 1]),
    some: asks.flatMap((id) => openAsk(id, records[next++]) ?? []).sort((a, b) => a.askedAt - b.askedAt),
  }))
}

export interface AskCount {
  readonly asks: number
  /** When the oldest of them was asked. */
  readonly since: number | null
}

/** How many of the newest asks of each session are open. In the order of `sessionIds`. */
export async function openAsksOf(
  redis: Redis,
  keys: PartitionKeys,
  sessionIds: readonly string[],
): Promise<AskCount[]> {
  const reading = redis.pipeline()
  for (const id of sessionIds) reading.zrevrange(sessionKeys(keys.tag, id).asks, 0, ofSessionMax - 1)
  const asked = (await repliesOf(reading)).map(listOr)
  const all = asked.flat()
  const scores = all.length === 0 ? [] : await orElse(redis.zmscore(keys.asks, ...all), [])
  let next = 0
  return asked.map((ids) => {
    const open = ids.flatMap(() => scores[next++] ?? []).map(Number)
    return { asks: open.length, since: open.length === 0 ? null : Math.min(...open) }
  })
}

export interface OldestAsk {
  readonly sort: AskSort
  readonly askedAt: number
}

/** The oldest open asks of the partition. An ask that ends meanwhile counts as a question. */
export async function oldestAsks(redis: Redis, keys: PartitionKeys, most: number): Promise<OldestAsk[]> {
  const open = scored(await orElse(redis.zrange(keys.asks, 0, String(most - 1), 'WITHSCORES'), []))
  const reading = redis.pipeline()
  for (const [id] of open) reading.hget(askKey(keys.tag, id), 'sort')
  const sorts = await repliesOf(reading)
  return open.map(([, askedAt], index) => ({ sort: sortOf(sorts[index]), askedAt }))
}

function sortOf(word: unknown): AskSort {
  return askSorts.find((known) => known === word) ?? 'question'
}

/** Undefined for a record that another program wrote over. */
function openAsk(id: string, reply: unknown): OpenAsk | undefined {
  const [sort, body, at] = listOr(reply)
  const question = decodeAskBody(body ?? '')?.question
  if (question === undefined) return undefined
  return { id, kind: sortOf(sort), question, askedAt: Number(at ?? 0) }
}

/** A key that another program wrote over answers an error, and counts as empty here: the audit names it. */
function listOr(reply: unknown): string[] {
  return Array.isArray(reply) ? (reply as string[]) : []
}

function numberOr(reply: unknown): number {
  return typeof reply === 'number' ? reply : 0
}
