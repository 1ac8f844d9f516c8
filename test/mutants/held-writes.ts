/** Writes that Redis holds up: whoever does not wait for the answer of its commit is ahead of it, and sees that nothing is stored yet. */
import type { Redis } from 'ioredis'
import type { Entry } from '../../src/core/history/entry.ts'
import { workerKeys } from '../../src/store/keys.ts'

/** Sessions ahead of this one have this time to begin, even on a busy machine. A test waits for all of it. */
const heldMsMax = 1_000

/** A step that may wait for the next one is no commit of its own, however slow the machine is. */
export const heldPolicy = { lazyCommitMs: 60_000 }

export async function holdWrites(redis: Redis): Promise<void> {
  await redis.client('PAUSE', heldMsMax, 'WRITE')
}

/** Types of the entries of a worker that are stored at this moment; then writes go on. */
export async function storedTypes(redis: Redis, tag: string, workerId: string): Promise<string[]> {
  const texts = await redis.lrange(workerKeys(tag, workerId).log, 0, -1)
  await redis.client('UNPAUSE')
  return texts.map((text) => (JSON.parse(text) as Entry).type)
}
