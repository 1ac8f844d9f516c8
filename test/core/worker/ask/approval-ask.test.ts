/** What the ask of a tool call says, which answers it takes, and what a person approves with one. */
import { expect, test } from 'vitest'
import { answerProblem } from '../../../../src/core/worker/ask/answer-problem.ts'
import {
  type ApprovalDetails,
  approvalBody,
  bindDecision,
  rehashed,
} from '../../../../src/core/worker/ask/approval-ask.ts'

const details = {
  tool: 'pay',
  toolCallId: 'c1',
  arguments: { cents: 5 },
  schemaHash: 'h',
  hash: 'h',
  why: 'it says so',
} satisfies ApprovalDetails
const cents = { type: 'object', properties: { cents: { type: 'integer' } }, required: ['cents'] }
const approve = { decision: 'approve' }

test.each([approve, { ...approve, arguments: { cents: 6 }, trust: 'tool' }, { decision: 'deny' }])(
  'the answer %j to the approval of a call fits',
  (answer) => {
    expect(answerProblem(approvalBody(details, cents), answer)).toBeNull()
  },
)

test.each([
  [{ ...approve, arguments: { cents: 'six' } }, /arguments/],
  [{ ...approve, trust: 'all' }, /trust/],
  [{ ...approve, hash: 'h' }, /hash/],
  [{ decision: 'maybe' }, /decision/],
  ['approve', /does not fit/],
])('the answer %j to the approval of a call is refused for its fault', (answer, fault) => {
  expect(answerProblem(approvalBody(details, cents), answer)).toMatch(fault)
})

test('arguments that a person writes are checked by definitions of their schema', () => {
  const $defs = { name: { type: 'string' } }
  const body = approvalBody(details, { type: 'object', properties: { to: { $ref: '#/$defs/name' } }, $defs })
  expect(answerProblem(body, { ...approve, arguments: { to: 1 } })).toMatch(/arguments/)
  expect(answerProblem(body, { ...approve, arguments: { to: 'x' } })).toBeNull()
})

test('a decision is checked, even if the schema of the arguments refers to itself, and nobody can check these here', () => {
  const from = { type: 'string' }
  const body = approvalBody(details, { type: 'object', properties: { to: { $ref: '#/properties/from' }, from } })
  expect(answerProblem(body, { ...approve, arguments: { to: 1 } })).toBeNull()
  expect(answerProblem(body, { decision: 'maybe' })).toMatch(/decision/)
})

test('a long call is asked about with the beginning of its arguments', () => {
  const { question } = approvalBody({ ...details, arguments: `${'x'.repeat(298)}😀` }, {})
  expect(question).toBe(`May pay run with "${'x'.repeat(298)}\uFFFD …?`)
})

test('a person approves the arguments that they wrote in place of those of the model (APPROVAL-ASK-1)', () => {
  const bound = (args?: object) => bindDecision({ decision: 'approve', ...args } as never, details, 'w').hash
  expect(bound({ arguments: { cents: 5 } })).toBe(bound())
  expect(bound({ arguments: { cents: 6 } })).not.toBe(bound())
  expect(bound({ arguments: null })).not.toBe(bound())
})

test('an ask with options takes one of them', () => {
  expect(answerProblem({ options: ['yes', 'no'] }, 'no')).toBeNull()
  for (const other of ['maybe', 'Yes', ['yes'], null])
    expect(answerProblem({ options: ['yes', 'no'] }, other)).toBe('must be one of: yes, no')
})

test('what the copy of a worker asks shows the hash of its own call: only that can be approved', () => {
  const [own, ofCopy] = ['w1', 'w2'].map((worker) => bindDecision({ decision: 'approve' }, details, worker).hash)
  expect(rehashed(details, 'w2')).toEqual({ ...details, hash: ofCopy })
  expect(ofCopy).not.toBe(own)
  expect(rehashed({ tool: 'pay' }, 'w2')).toBeNull()
})
