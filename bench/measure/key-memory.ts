/**
 * Duty: measures how much Redis memory the keys take, by owner. MEMORY USAGE counts a key's name, its entry and its value;
 * SAMPLES 0 makes it count every element instead of guessing from five.
 */
import type { Redis } from 'ioredis'
import { readEntries } from '../../src/store/history/read-entries.ts'
import { type KeyOwner, ownerOf } from './troupe-keys.ts'

const scanBatch = 1_000

export interface KeyMemory {
  readonly byOwner: Readonly<Record<KeyOwner, number>>
  /** The payload: bytes of the entries of all histories, as sent to Redis. */
  readonly payload: number
}

export async function measureKeyMemory(redis: Redis): Promise<KeyMemory> {
  const byOwner = { history: 0, worker: 0, session: 0, shared: 0, passing: 0 }
  let payload = 0
  for await (const keys of allKeys(redis)) {
    const usages = await askForEach(redis, keys, (pipeline, key) =>
      pipeline.call('MEMORY', 'USAGE', key, 'SAMPLES', '0'),
    )
    for (const [index, usage] of usages.entries()) byOwner[ownerOf(keys[index] ?? '')] += Number(usage ?? 0)
    const histories = keys.filter((key) => ownerOf(key) === 'history')
    for (const key of histories)
      for (const entry of await readEntries(redis, key, 0, -1)) payload += Buffer.byteLength(entry)
  }
  return { byOwner, payload }
}

async function* allKeys(redis: Redis): AsyncGenerator<string[]> {
  const seen = new Set<string>()
  let cursor = '0'
  do {
    const [next, batch] = await redis.scan(cursor, 'COUNT', scanBatch)
    // SCAN may name a key twice while Redis resizes its table.
    const keys = batch.filter((key) => !seen.has(key))
    for (const key of keys) seen.add(key)
    yield keys
    cursor = next
  } while (cursor !== '0')
}

type Pipeline = ReturnType<Redis['pipeline']>

async function askForEach(redis: Redis, keys: readonly string[], ask: (pipeline: Pipeline, key: string) => unknown) {
  const pipeline = redis.pipeline()
  for (const key of keys) ask(pipeline, key)
  const replies = (await pipeline.exec()) ?? []
  return replies.map(([error, reply]) => {
    if (error) throw error
    return reply
  })
}
