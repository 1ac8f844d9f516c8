/** What the page makes of what the API says, in words: findings, and ids that are cut off. */
import { expect, test } from 'vitest'
import { cutIdProblem } from '../../src/page/api/id.ts'
import { aroundCommand } from '../../src/page/parts/state/around-command.ts'

test('the command of a finding stands once, where its advice names it', () => {
  expect(aroundCommand('go on with `troupe resume --all`, or wait', 'troupe resume --all')).toEqual([
    'go on with ',
    ', or wait',
  ])
  expect(aroundCommand('troupe doctor', 'troupe doctor')).toEqual(['', ''])
  expect(aroundCommand('read its log', 'troupe doctor')).toBe(null)
})

test('an id that was cut off is said to be a part of one', () => {
  const whole = '01900000-0000-7000-8000-000000000000'
  expect(cutIdProblem(whole, 'session')).toBe(null)
  expect(cutIdProblem(whole.slice(0, 23), 'worker')).toMatch(/only a part of the id of a worker: .* this has 23\./)
  expect(cutIdProblem('01900000…0000', 'session')).toMatch(/^01900000…0000 is only a part/)
  expect(cutIdProblem('../secret', 'session')).toBe(null)
})
