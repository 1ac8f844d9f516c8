import { expect, test } from 'vitest'
import { aroundCommand } from '../../src/page/parts/state/around-command.ts'

test('the command of a finding stands once, where its advice names it', () => {
  expect(aroundCommand('go on with `troupe resume --all`, or wait', 'troupe resume --all')).toEqual([
    'go on with ',
    ', or wait',
  ])
  expect(aroundCommand('troupe doctor', 'troupe doctor')).toEqual(['', ''])
  expect(aroundCommand('read its log', 'troupe doctor')).toBe(null)
})
