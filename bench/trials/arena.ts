/** Duty: the parts that all trials of one run share: the Redis, the number of repeats, and the progress lines. */
import type { Redis } from 'ioredis'
import type { Place } from '../contestant.ts'

export interface Arena {
  /** The bench's own connection, for counters and for emptying Redis between contestants. */
  readonly redis: Redis
  readonly repeats: number
  /** How many seconds one measured window takes. */
  readonly seconds: number
  nextPlace(): Place
  progress(text: string): void
  failed(what: string, error: unknown): void
}

export function openArena(redis: Redis, settings: Pick<Arena, 'repeats' | 'seconds'> & { redisUrl: string }): Arena {
  let opened = 0
  return {
    redis,
    repeats: settings.repeats,
    seconds: settings.seconds,
    nextPlace: () => ({ redisUrl: settings.redisUrl, namespace: `bench${++opened}` }),
    progress: (text) => process.stderr.write(`${text}\n`),
    failed: (what, error) => {
      const reason = error instanceof Error ? error.message : String(error)
      process.stderr.write(`${what} could not be measured: ${reason}\n`)
    },
  }
}
