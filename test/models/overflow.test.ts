/** Sentences of providers and servers about prompts that are too long, and about other limits. */
import { expect, test } from 'vitest'
import { toModelError } from '../../src/models/sdk/sdk-errors.ts'

const codeOf = (message: string, more: object = { statusCode: 400 }) =>
  toModelError({ message, ...more }, { id: 'acme/large', secrets: [] }).code

test.each([
  "This model's maximum context length is 4096 tokens. However, your messages resulted in 9000 tokens.",
  "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens (66000 in the messages, 4000 in the completion).",
  'Your input exceeds the context window of this model. Please adjust your input and try again.',
  'prompt is too long: 210000 tokens > 200000 maximum',
  'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again',
  'Input is too long for requested model.',
  'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
  'too many tokens: total number of tokens in the prompt cannot exceed 4081',
  'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
  "This model's maximum prompt length is 131072 but the request contains 140000 tokens.",
  'the request exceeds the available context size. try increasing the context size or enable context shift',
  'Trying to keep the first 9000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens',
  '`inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000 `inputs` tokens and 500 `max_new_tokens`',
  'Invalid request: Your request exceeded model token limit: 131072',
  'Prompt exceeds max length',
  'invalid params, context window exceeds limit (2013)',
  "Requested token count exceeds the model's maximum context length of 8192 tokens.",
  'The prompt is too long: 150000, model maximum context length: 131071',
  'input too long',
])('%j is an overflow', (message) => {
  expect(codeOf(message)).toBe('context_overflow')
  expect(codeOf(message, { statusCode: 500 })).toBe('context_overflow')
  expect(codeOf(message, {})).toBe('context_overflow')
})

test.each([
  'max_tokens is too large: 100000. This model supports at most 16384 completion tokens, whereas you provided 100000.',
  'max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4',
  'messages: text content blocks must be non-empty',
  'Invalid value for temperature: 3. Expected at most 2.',
  'Image exceeds 5 MB maximum: 6000000 bytes > 5242880 bytes',
  'Invalid image data.',
  'Bad Request: {"error":{"message":"Image exceeds 5 MB maximum"}}',
  'Unsupported media type audio/flac.',
  'messages.1.content.0: unexpected tool_use_id',
  'Invalid schema for function look_up',
])('%j is no overflow', (message) => {
  expect(codeOf(message)).toBe('model_refused')
})

test.each([
  ['Rate limit reached for gpt-4o on tokens per min (TPM): Limit 30000, Requested 9000.', { statusCode: 429 }],
  ['This request would exceed your rate limit of 40000 input tokens per minute.', { statusCode: 429 }],
  ['Too many tokens, please wait before trying again.', { statusCode: 429 }],
])('%j is a busy provider', (message, more) => {
  expect(codeOf(message, more)).toBe('model_overloaded')
})

test.each(['context_length_exceeded', 'request_too_large', 'exceed_context_size_error'])(
  'the code %s is an overflow',
  (code) => {
    expect(codeOf('No.', { statusCode: 400, data: { error: { type: 'invalid_request_error', code } } })).toBe(
      'context_overflow',
    )
  },
)

test.each([
  [{ statusCode: 401 }, true],
  [{ statusCode: 404 }, true],
  [{ statusCode: 302 }, true],
  [{ statusCode: 429, data: { error: { code: 'insufficient_quota' } } }, true],
  [{ name: 'AI_LoadAPIKeyError' }, true],
  [{ statusCode: 400 }, undefined],
  [{ statusCode: 403 }, undefined],
  [{ statusCode: 422 }, undefined],
  [{ name: 'AI_UnsupportedFunctionalityError' }, undefined],
])('the error %j would come for any other prompt too: %s', (thrown, wouldRefuseAny) => {
  const error = toModelError({ message: 'No.', ...thrown }, { id: 'acme/large', secrets: [] })
  expect([error.code, error.details.wouldRefuseAny]).toEqual(['model_refused', wouldRefuseAny])
})
