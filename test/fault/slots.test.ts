/** Long turns never keep an idle slot asleep: fifty sessions, submitted one by one, run at the same time in a node of fifty slots. */
import { expect, test } from 'vitest'
import { isLong } from '../support/fault/fault-settings.ts'
import { Harness } from '../support/fault/harness.ts'
import { expectInvariants } from '../support/fault/oracle.ts'
import { awaitResult } from '../support/time/await-session.ts'

const slots = 50
/** Longer than a busy machine takes to begin them all. */
const ms = isLong ? 20_000 : 8_000

test('fifty long turns, submitted one by one, run at the same time (I17)', async () => {
  await using harness = await Harness.open()
  await harness.start('a', { concurrency: slots, policy: { leaseMs: 15_000, renewEveryMs: 1_000 } })
  // Short turns before: the wake-up rule then expects a slot that is awake to take several workers, until one lasts.
  for (let round = 0; round < 3; round++) {
    const short = Array.from({ length: 50 }, () => harness.client.sessions.create({ kind: 'quick', input: null }))
    await Promise.all((await Promise.all(short)).map((session) => session.result()))
  }
  const results: Promise<unknown>[] = []
  for (let number = 0; number < slots; number++) {
    const session = await harness.client.sessions.create({ kind: 'slow', input: { ms } })
    results.push(awaitResult(session))
  }
  for (const result of await Promise.all(results)) expect(result).toMatchObject({ status: 'completed' })
  const begun = harness.ledger.lines('begun')
  const done = harness.ledger.lines('done')
  expect([begun.length, done.length]).toEqual([slots, slots])
  const lastBegun = Math.max(...begun.map((line) => line.at))
  const firstDone = Math.min(...done.map((line) => line.at))
  expect(lastBegun).toBeLessThan(firstDone)
  await expectInvariants(harness.redis, harness.namespace)
})
