/** Does a value answer an ask? */
import { expect, test } from 'vitest'
import { answerProblem } from '../../../../src/core/worker/ask/answer-problem.ts'

test('an answer must fit the schema of its ask; one that cannot be read is left to whoever gets the answer', () => {
  expect(answerProblem({ schema: { type: 'string' } }, 1)).toMatch(/^does not fit its schema/)
  for (const schema of [{ not: { type: 'string' } }, { if: { type: 'string' } }])
    expect(answerProblem({ schema }, 1)).toBeNull()
})
