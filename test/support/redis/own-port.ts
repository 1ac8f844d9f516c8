/**
 * A loopback port that stays a test's own also while nobody listens at it. One of those that the system gives out by itself could be
 * given to another test meanwhile.
 * OWN-PORT-1 Each process of a test run has ports of its own, and gives out all of them before it gives one out again.
 */
import { randomInt } from 'node:crypto'
import { availableParallelism } from 'node:os'
import { freePort } from '../../../src/dev/started-redis.ts'

/** Systems give out higher ones, unless they are told otherwise. */
const [least, most] = [10_000, 32_000]

/** One for each process that vitest.config.ts allows, and one for a program without vitest. */
const shares = 2 * availableParallelism() + 1
const count = Math.floor((most - least) / shares)
const first = least + count * (Number(process.env.VITEST_POOL_ID ?? 0) % shares)
/** Another run on this machine begins elsewhere. */
let given = randomInt(count)

export async function ownPort(): Promise<number> {
  for (;;) {
    given = (given + 1) % count
    const port = first + given
    if ((await freePort(port)) === port) return port
  }
}
