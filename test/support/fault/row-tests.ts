/** The short form of a row of the table of faults, as tests: one for each trial. `npm run faults` runs the long form. */
import { describe, inject, test } from 'vitest'
import { type Row, stageFor } from '../../faults/row.ts'
import { isLong, withSeed } from './fault-settings.ts'

/** With TROUPE_TEST_LONG=1 storms kill more; the other rows have their length from `npm run faults`. */
const scale = { isLong: false, kills: isLong ? 50 : undefined }

export function testRow(row: Row): void {
  describe(`${row.id}: ${row.promise}`, () => {
    const trials = row.trials(scale)
    // oxlint-disable-next-line vitest/expect-expect -- a trial throws where a promise is broken
    test.concurrent.each(trials)('$name', { timeout: isLong ? 1_200_000 : 600_000 }, (trial) =>
      withSeed(async (random) => {
        await trial.run(stageFor(row.id, inject('redisUrl'), random))
      }),
    )
  })
}
