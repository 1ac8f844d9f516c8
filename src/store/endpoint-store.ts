/**
 * Duty: endpoints as they are stored: their records, in partition 0 for the whole namespace; and in each partition, which endpoints are told of it.
 * ENDPOINTS-1 A record is written only if nobody changed it since it was read.
 * ENDPOINTS-2 An endpoint is told of what happens in a partition after it was made to listen there, by the clock of that partition.
 */
import { decodeEndpoint, type EndpointRecord, encodeEndpoint } from '../core/webhook/endpoint.ts'
import { endpointKeys } from './keys.ts'
import type { OpenPlace } from './places.ts'
import { guarded } from './redis/guarded.ts'
import { scored } from './script/replies.ts'
import { endpointScript, listenScript } from './script/scripts.ts'

/** A record of an endpoint, and the text that was read. */
export interface StoredEndpoint {
  readonly id: string
  readonly record: EndpointRecord
  readonly text: string
}

export class EndpointStore {
  readonly #places: readonly OpenPlace[]
  readonly #first: OpenPlace
  /** The key of the hash that holds the records. */
  readonly #key: string
  readonly #deadlineMs: number

  constructor(places: readonly OpenPlace[], deadlineMs: number) {
    this.#places = places
    this.#first = places[0] as OpenPlace
    this.#key = endpointKeys(this.#first.keys.tag).endpoints
    this.#deadlineMs = deadlineMs
  }

  /** Whether the namespace has an endpoint, enabled or not. */
  async hasSome(): Promise<boolean> {
    const { redis } = this.#first
    return (await guarded('looking for endpoints', () => redis.exists(this.#key), this.#deadlineMs)) === 1
  }

  /** All endpoints, in the order of their creation. */
  async list(): Promise<StoredEndpoint[]> {
    const { redis } = this.#first
    const texts = await guarded('reading endpoints', () => redis.hgetall(this.#key), this.#deadlineMs)
    return Object.entries(texts)
      .flatMap(([id, text]) => stored(id, text) ?? [])
      .sort((a, b) => a.record.createdAt - b.record.createdAt || (a.id < b.id ? -1 : 1))
  }

  async get(id: string): Promise<StoredEndpoint | null> {
    const { redis } = this.#first
    const text = await guarded('reading an endpoint', () => redis.hget(this.#key, id), this.#deadlineMs)
    return text === null ? null : stored(id, text)
  }

  /** Writes a record (ENDPOINTS-1). `before`: the text that was read; null: there was no record. `after`: null removes the record. */
  async write(
    id: string,
    before: StoredEndpoint | null,
    after: EndpointRecord | null,
    most: number,
  ): Promise<'ok' | 'changed' | 'full'> {
    const { caller } = this.#first
    const texts = { before: before?.text ?? '', after: after === null ? '' : encodeEndpoint(after) }
    const [answer] = await caller.call(
      endpointScript,
      { endpoints: this.#key },
      { id, ...texts, most },
      { deadlineMs: this.#deadlineMs },
    )
    return answer as 'ok' | 'changed' | 'full'
  }

  /** Says that the endpoint is told of what happens in all partitions or in one, or no more (ENDPOINTS-2). */
  async listen(id: string, listens: boolean, partition?: number): Promise<void> {
    const places = partition === undefined ? this.#places : this.#places.slice(partition, partition + 1)
    await Promise.all(
      places.map(({ caller, keys }) =>
        caller.call(
          listenScript,
          { since: endpointKeys(keys.tag).since },
          { id, listens: listens ? '1' : '0' },
          { deadlineMs: this.#deadlineMs },
        ),
      ),
    )
  }

  /** The endpoints that are told of a partition, each with the time in ms from which on. */
  async listeners(partition: number): Promise<ReadonlyMap<string, number>> {
    const { redis, keys } = this.#places[partition] as OpenPlace
    const read = () => redis.zrange(endpointKeys(keys.tag).since, 0, '-1', 'WITHSCORES')
    return new Map(scored(await guarded('reading who is told', read, this.#deadlineMs)))
  }

  async now(): Promise<number> {
    const { redis } = this.#first
    const [seconds, micros] = await guarded('reading the time', () => redis.time(), this.#deadlineMs)
    return Number(seconds) * 1000 + Math.floor(Number(micros) / 1000)
  }
}

/** Null for a record that another program wrote over. */
function stored(id: string, text: string): StoredEndpoint | null {
  const record = decodeEndpoint(text)
  return record && { id, record, text }
}
