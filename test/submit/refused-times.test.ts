/** For how many times in which Redis took no writes a job is excused. */
import { expect, test } from 'vitest'
import { RefusedTimes } from '../../src/submit/refused-times.ts'

const replied = (message: string) => Object.assign(new Error(message), { name: 'ReplyError' })
const refusal = replied('NOREPLICAS Not enough good replicas to write.')

test('refusals that follow each other are one time, and excuse only jobs that were there before its end (SUBMIT-6)', () => {
  const refused = new RefusedTimes()
  for (const now of [1_000, 20_000, 40_001]) refused.note(refusal, now)
  // BullMQ's own errors are no refusals.
  refused.note(new Error('Missing lock for job 1. moveToFinished'), 80_000)
  expect([0, 20_000, 20_001, 40_001, 40_002].map((added) => refused.since(added))).toEqual([2, 2, 1, 1, 0])
})

test.each([
  ["READONLY You can't write against a read only replica. script: f0, on @user_script:1.", 1],
  ['ERR Error running script (call to f_0): @user_script:1: @user_script: 1: -MISCONF Redis cannot save to disk.', 1],
  ['NOPERM this user has no permissions to run the evalsha command', 1],
  ['WRONGTYPE Operation against a key holding the wrong kind of value script: f0, on @user_script:1.', 0],
  ['ERR user_script:1: bad argument script: f0, on @user_script:1.', 0],
])('%s excuses jobs of that time %d times: a damaged key is no refusal of writes', (message, times) => {
  const refused = new RefusedTimes()
  refused.note(replied(message), 1_000)
  expect(refused.since(0)).toBe(times)
})

test('few of such times are remembered', () => {
  const refused = new RefusedTimes()
  for (let nth = 1; nth <= 150; nth++) refused.note(refusal, nth * 60_000)
  expect(refused.since(0)).toBe(100)
})
