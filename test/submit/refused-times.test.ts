/** For how many times in which Redis took no writes a job is excused. */
import { expect, test } from 'vitest'
import { RefusedTimes } from '../../src/submit/refused-times.ts'

const refusal = Object.assign(new Error('NOREPLICAS Not enough good replicas to write.'), { name: 'ReplyError' })

test('refusals that follow each other are one time, and excuse only jobs that were there before its end (SUBMIT-6)', () => {
  const refused = new RefusedTimes()
  for (const now of [1_000, 20_000, 40_001]) refused.note(refusal, now)
  // BullMQ's own errors are no refusals.
  refused.note(new Error('Missing lock for job 1. moveToFinished'), 80_000)
  expect([0, 20_000, 20_001, 40_001, 40_002].map((added) => refused.since(added))).toEqual([2, 2, 1, 1, 0])
})

test('few of such times are remembered', () => {
  const refused = new RefusedTimes()
  for (let nth = 1; nth <= 150; nth++) refused.note(refusal, nth * 60_000)
  expect(refused.since(0)).toBe(100)
})
