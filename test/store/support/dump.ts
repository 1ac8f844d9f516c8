/**
 * All keys of a namespace as plain data, so that a test can say what a call changed and that it changed nothing else.
 * What differs from run to run is put into words: an instant becomes its distance from Redis's clock ("now", "now+60s"), ids
 * become the labels the test gave them ("<one.root>"), the random part of a wake-up's name becomes "*".
 */
import type { Redis } from 'ioredis'
import { sessionIdOfRoot } from '../../../src/core/ids.ts'
import { eventLines, sessionView, workerView } from './views.ts'

export type Dump = Readonly<Record<string, unknown>>

/** Turns the strings of one namespace into words. */
export class Words {
  readonly #tag: string
  /** By Redis's clock, in ms; everything that the test brings about is later. */
  since = 0
  readonly #labels = new Map<string, string>()
  /** A time is printed as in the first dump; else an unchanged time would read differently some milliseconds later. */
  readonly #instants = new Map<string, string>()

  constructor(tag: string) {
    this.#tag = tag
  }

  label(text: string, label: string): void {
    this.#labels.set(text, `<${label}>`)
  }

  key(key: string): string {
    return this.text(key.startsWith(`${this.#tag}:`) ? key.slice(this.#tag.length + 1) : key, 0)
  }

  text(text: string, now: number): string {
    let words = text
    for (const [id, label] of this.#labels) words = words.replaceAll(id, label)
    words = words.replace(/\b([pws])[A-Za-z0-9_.]{12,}-/g, '$1*-')
    // A retry is known by the seed of its wake-ups.
    words = words.replace(/^(\d+) [A-Za-z0-9_.]{12,} /, '$1 * ')
    // Numbers of outboxes are in µs.
    words = words.replace(/\b(\d{13})\d{3}\b/g, '$1')
    return words.replace(/\b\d{13}\b/g, (digits) => {
      const told = this.#instants.get(digits) ?? distance(Number(digits), this.since, now)
      this.#instants.set(digits, told)
      return told
    })
  }
}

/** The times of this long that tests speak of, in s. */
const usual = [0, 20, 60, 600]
const slackMs = 5_000

/**
 * "now", "now+60s": how far ahead it was when it was written, some time between the two. An instant that fits none of the usual times is told
 * as its distance from now, to ten seconds.
 */
function distance(instant: number, since: number, now: number): string {
  const fits = (ahead: number) => {
    const written = instant - ahead * 1_000
    return written >= since - slackMs && written <= now + slackMs
  }
  const seconds = usual.find(fits) ?? Math.round((instant - now) / 10_000) * 10
  return seconds === 0 ? 'now' : `now${seconds > 0 ? '+' : ''}${seconds}s`
}

export async function dumpKeys(redis: Redis, namespace: string, words: Words): Promise<Dump> {
  const now = await clockOf(redis)
  const dump: Record<string, unknown> = {}
  for (const key of await keysOf(redis, namespace)) {
    if (/:s:[^:]+:results$/.test(key)) continue
    // Virtual times: which worker is next is seen by the run queues.
    if (key.endsWith(':clocks')) continue
    dump[words.key(key)] = await dumpValue(redis, key, now, words)
    const session = await sessionOf(redis, key)
    if (session === null) continue
    const own = key.replace(/:w:.*/, `:s:${session.id}`)
    const results = (await redis.type(`${own}:results`)) === 'hash' ? await redis.hgetall(`${own}:results`) : {}
    dump[words.key(own)] = inWords(
      sessionView(session.id, session.root, results),
      sessionView(session.id, {}),
      now,
      words,
    )
  }
  return dump
}

/** Redis's clock, in ms. */
export async function clockOf(redis: Redis): Promise<number> {
  const [seconds, micros] = await redis.time()
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000)
}

/** Every key in which the namespace occurs, in the order of their names. */
export async function keysOf(redis: Redis, namespace: string): Promise<string[]> {
  const keys = new Set<string>()
  let cursor = '0'
  do {
    const [next, page] = await redis.scan(cursor, 'MATCH', `*${namespace}*`, 'COUNT', 10_000)
    for (const key of page) keys.add(key)
    cursor = next
  } while (cursor !== '0')
  return [...keys].sort()
}

/** What is told of a session, by the record of its root. */
async function sessionOf(redis: Redis, key: string): Promise<{ id: string; root: Record<string, string> } | null> {
  const [, rootId] = /:w:([0-9a-f-]{36})$/.exec(key) ?? []
  if (rootId === undefined || (await redis.type(key)) !== 'hash') return null
  const root = await redis.hgetall(key)
  return root.path1 === undefined && root.kind !== undefined ? { id: sessionIdOfRoot(rootId), root } : null
}

/** `start`: what it would be if the hash were new. */
function inWords(view: Record<string, string>, start: Record<string, string>, now: number, words: Words): object {
  const text = (raw: string) => words.text(raw, now)
  const told = (fields: Record<string, string>) =>
    Object.fromEntries(Object.entries(fields).map(([name, value]) => [text(name), text(value)]))
  const facts = told(view)
  starts.set(facts, told(start))
  return facts
}

/**
 * Who is in a run queue, in order, and since when; the places there are virtual times. Members with the same score come in the order of their
 * ids, which means nothing.
 */
async function queued(redis: Redis, runKey: string, text: (raw: string) => string): Promise<string[]> {
  const places = pairs(await redis.zrange(runKey, 0, '-1', 'WITHSCORES'))
  const lines = await Promise.all(
    places.map(async ([id, place]) => {
      const since = await redis.hget(runKey.replace(/:run:.*/, `:w:${id}`), 'queuedAt')
      return { place: Number(place), line: text(`${id} ${since}`) }
    }),
  )
  return lines.sort((a, b) => a.place - b.place || (a.line < b.line ? -1 : 1)).map(({ line }) => line)
}

async function dumpValue(redis: Redis, key: string, now: number, words: Words): Promise<unknown> {
  const text = (raw: string) => words.text(raw, now)
  switch (await redis.type(key)) {
    case 'hash':
      return inWords(viewOf(key, await redis.hgetall(key)), viewOf(key, {}), now, words)
    case 'list':
      return (await redis.lrange(key, 0, -1)).map(text)
    case 'set':
      return (await redis.smembers(key)).map(text).sort()
    case 'zset': {
      if (key.includes(':run:')) return queued(redis, key, text)
      const scored = pairs(await redis.zrange(key, 0, '-1', 'WITHSCORES')).map(([member, score]) => ({
        line: text(Number(score) < 0 ? `${member} goes on since ${Number(score) + 4e15}` : `${member} ${score}`),
      }))
      // Notes of one millisecond have no order.
      return scored.map(({ line }) => line).sort()
    }
    case 'stream':
      return (await redis.xrange(key, '-', '+')).map(([id, flat]) =>
        key.endsWith(':events')
          ? eventLines(id, pairs(flat)).map(text)
          : [
              pairs(flat)
                .map(([name, value]) => text(`${name}=${value}`))
                .join(' '),
            ],
      )
    case 'string': {
      const [value, ttl] = await Promise.all([redis.get(key), redis.pttl(key)])
      // To a minute, so that a slow machine says the same.
      return ttl < 0 ? text(value ?? '') : `${text(value ?? '')} | for ${Math.ceil(ttl / 60_000) * 60}s`
    }
    default:
      return 'gone'
  }
}

/** The view that a hash would have if it were new. */
const starts = new WeakMap<object, Dump>()

function viewOf(key: string, fields: Record<string, string>): Record<string, string> {
  const [, id] = /:w:([0-9a-f-]{36})$/.exec(key) ?? []
  return id === undefined ? fields : workerView(id, fields)
}

function pairs(flat: readonly string[]): [string, string][] {
  return Array.from({ length: flat.length / 2 }, (_, index) => [
    flat[index * 2] as string,
    flat[index * 2 + 1] as string,
  ])
}

/**
 * What differs: of a hash the fields that changed, of a stream the new entries, of anything else the value afterwards. A key or field that is gone is null.
 */
export function changes(before: Dump, after: Dump): Dump {
  const changed: Record<string, unknown> = {}
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [was, is] = [before[key], after[key]]
    if (same(was, is)) continue
    if (is === undefined) changed[key] = null
    else if (isFields(is)) {
      const fields = changes(isFields(was) ? was : (starts.get(is) ?? {}), is)
      // The order of a hash's fields says nothing.
      if (!isFields(was) || Object.keys(fields).length > 0) changed[key] = fields
    } else if (isStream(is)) changed[key] = is.slice(Array.isArray(was) ? was.length : 0)
    else changed[key] = is
  }
  return changed
}

function same(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

function isFields(value: unknown): value is Dump {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function isStream(value: unknown): value is unknown[] {
  return Array.isArray(value) && Array.isArray(value[0])
}
