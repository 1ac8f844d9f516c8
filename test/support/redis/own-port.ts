/**
 * A loopback port that stays a test's own also while nobody listens at it. One of those that the system gives out by itself could be
 * given to another test meanwhile.
 */
import { randomInt } from 'node:crypto'
import { freePort } from '../../../src/dev/started-redis.ts'

/** Systems give out higher ones, unless they are told otherwise. */
const [least, most] = [10_000, 32_000]

export async function ownPort(): Promise<number> {
  for (;;) {
    const port = randomInt(least, most)
    if ((await freePort(port)) === port) return port
  }
}
