/** Words of providers and servers for the end of a reply, by what they mean (FINISH-1). */
import { expect, test } from 'vitest'
import { endingOf } from '../../src/models/finish-reason.ts'

test.each([
  ['error', 'model_unavailable'],
  ['abort', 'model_unavailable'],
  ['aborted', 'model_unavailable'],
  ['ABORTED', 'model_unavailable'],
  ['cancelled', 'model_unavailable'],
  ['canceled', 'model_unavailable'],
  ['failed', 'model_unavailable'],
  ['interrupted', 'model_unavailable'],
  ['timeout', 'model_unavailable'],
  ['timed_out', 'model_unavailable'],
  ['network_error', 'model_unavailable'],
  ['internal-error', 'model_unavailable'],
  ['server error', 'model_unavailable'],
  ['overloaded', 'model_overloaded'],
  ['rate_limit', 'model_overloaded'],
  ['insufficient_system_resource', 'model_overloaded'],
  ['malformed_function_call', 'model_garbled'],
  ['MALFORMED_FUNCTION_CALL', 'model_garbled'],
  ['UNEXPECTED_TOOL_CALL', 'model_garbled'],
] as const)('%j is a failed call: %s', (word, code) => {
  expect(endingOf('other', word)).toEqual({ kind: 'failed', code })
})

test.each([
  ['max_tokens', 'length'],
  ['MAX_TOKENS', 'length'],
  ['max_length', 'length'],
  ['model_length', 'length'],
  ['length_limit', 'length'],
  ['SAFETY', 'content-filter'],
  ['PROHIBITED_CONTENT', 'content-filter'],
  ['sensitive', 'content-filter'],
  ['content_filter_error', 'content-filter'],
  ['eos', 'other'],
  ['weird', 'other'],
] as const)('%j ends an answer by %s', (word, reason) => {
  expect(endingOf('other', word)).toEqual({ kind: 'ended', reason })
})

test('a reason that the SDK knows stays, whatever the word [4.17]', () => {
  expect(endingOf('stop', 'error')).toEqual({ kind: 'ended', reason: 'stop' })
  expect(endingOf('tool-calls', undefined)).toEqual({ kind: 'ended', reason: 'tool-calls' })
  for (const word of ['tool_calls', 'tool_use', 'function_call', 'TOOL_CALL'])
    expect(endingOf('tool-calls', word)).toEqual({ kind: 'ended', reason: 'tool-calls' })
  expect(endingOf('tool-calls', 'cancelled')).toEqual({ kind: 'failed', code: 'model_unavailable' })
  expect(endingOf('error', undefined)).toEqual({ kind: 'failed', code: 'model_unavailable' })
  expect(endingOf('interrupted', 'x')).toEqual({ kind: 'failed', code: 'model_unavailable' })
})
