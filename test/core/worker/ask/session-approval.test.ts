/** What a session says of approvals is read as it was written. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import {
  approvalPolicies,
  decodeApproval,
  defaultApproval,
  encodeApproval,
  nobodyAnswersWords,
} from '../../../../src/core/worker/ask/session-approval.ts'

test('the text of the default is short, and is read back', () => {
  expect(encodeApproval(defaultApproval)).toBe('manual wait 0')
  expect(decodeApproval('manual wait 0')).toEqual(defaultApproval)
})

test('a policy that was written is read back', () => {
  const approval = fc.record({
    policy: fc.constantFrom(...approvalPolicies),
    whenNobodyAnswers: fc.constantFrom(...nobodyAnswersWords),
    approvalMs: fc.option(fc.integer({ min: 1, max: 2 ** 31 - 1 })),
    trusted: fc.array(fc.stringMatching(/^[A-Za-z0-9_-]{1,64}$/)),
  })
  fc.assert(
    fc.property(approval, (one) => {
      expect(decodeApproval(encodeApproval(one))).toEqual(one)
    }),
  )
})

test.each([
  '',
  'manual',
  'manual wait',
  'all wait 0',
  'auto never 0',
  'auto wait -1',
  'auto wait 0 a b',
  'auto wait 0\n',
])('%j is no text of a policy', (text) => expect(decodeApproval(text)).toBeNull())
