/** What the environment says about fault tests: how long they last, and from which seed their chances are drawn. */
import { randomInt } from 'node:crypto'

/** TROUPE_TEST_LONG=1: the long form, minutes instead of seconds. */
export const isLong = process.env.TROUPE_TEST_LONG === '1'

/** The seed of the short form: one change must not be red because of chances that another change did not meet. */
const fixedSeed = 4_711

/** TROUPE_TEST_SEED=7: all chances follow from that seed, in both forms. Undefined: the long form draws a fresh seed. */
export const givenSeed = Number(process.env.TROUPE_TEST_SEED) || (isLong ? undefined : fixedSeed)

export const drawSeed = (): number => givenSeed ?? randomInt(1, 2 ** 31)

export type Random = () => number

/** Runs a test whose chances follow from one seed; the seed is named when it fails. */
export async function withSeed(body: (random: Random) => Promise<void>): Promise<void> {
  const seed = drawSeed()
  try {
    await body(seeded(seed))
  } catch (error) {
    throw new Error(`Failed with TROUPE_TEST_SEED=${seed}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
}

/** Numbers from 0 to 1 (mulberry32). */
export function seeded(seed: number): Random {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}
