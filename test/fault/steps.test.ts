/** A node that dies between two steps of one receive: what was recorded before is not done again. */
import { expect, test } from 'vitest'
import { Harness } from '../support/fault/harness.ts'
import { expectInvariants } from '../support/fault/oracle.ts'
import { sureLeases } from '../support/test-policy.ts'
import { awaitResult } from '../support/time/await-session.ts'

test('a handler whose node is killed in its second step does not repeat the first one (HANDLER-STEPS-1)', async () => {
  await using harness = await Harness.open()
  const doomed = await harness.start('doomed')
  const session = await harness.client.sessions.create({ kind: 'stepper', input: null })
  expect(await doomed.gone).toBe('SIGKILL')
  // On a busy machine a short lease of the heir would end before its step, which would begin once more.
  await harness.start('heir', { policy: sureLeases })
  const result = await awaitResult(session)
  const done = harness.ledger.lines()
  expect(done.map(({ what, node }) => [what, node])).toEqual([
    ['first', 'doomed'],
    ['second', 'doomed'],
    ['second', 'heir'],
    ['third', 'heir'],
  ])
  expect(done[1]?.note).toBe(done[2]?.note)
  expect(result).toMatchObject({ status: 'completed', value: [done[0]?.pid, done[2]?.pid, done[3]?.pid] })
  await expectInvariants(harness.redis, harness.namespace)
})
