import { expect, test } from 'vitest'
import { redact, shortened } from '../../src/models/redact.ts'

test.each([
  ['key sk-abc123def456 is wrong', 'key [redacted] is wrong'],
  ['sk-proj-****wxyz', '[redacted]'],
  ['ghs_abcd', '[redacted]'],
  ['Authorization: Bearer abc.def-ghi', 'Authorization: [redacted]'],
  ['AIzaSyA1234567890abcdef', '[redacted]'],
  ['{"api_key": "short1", "model": "m"}', '{"api_key": "[redacted]", "model": "m"}'],
  ['GET /v1?key=abcd1234&x=1', 'GET /v1?key=[redacted]&x=1'],
  ['got 0123456789abcdef0123456789abcdef', 'got [redacted]'],
])('%s', (text, clean) => {
  expect(redact(text, [])).toBe(clean)
})

test.each([
  'The model gpt-5-2025-08-07 does not exist.',
  'max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-sonnet-4-5',
  'messages.1.content.0.tool_use.input: Input should be a valid dictionary',
  'This request would exceed the rate limit of 30,000 input tokens per minute.',
])('a text that is not a key stays: %s', (text) => {
  expect(redact(text, [])).toBe(text)
})

test('a known key is removed wherever a piece of it appears, even if it does not look like a key', () => {
  const key = 'correct horse battery'
  expect(redact(`a ${key} b`, [key])).toBe('a [redacted] b')
  expect(redact('a correct horse c', [key])).toBe('a [redacted]c')
  expect(redact('the horse bat…', [key])).toBe('the[redacted]…')
  expect(redact('it ends with  battery', [key])).toBe('it ends with [redacted]')
  expect(redact('pass', ['pass'])).toBe('[redacted]')
})

test('a known key is removed in the forms in which proxies quote it', () => {
  // The two forms of this key in base64 are not the same.
  const key = 'Ab+cd/ef"gh=ij\\klm>>>???'
  const forms = [encodeURIComponent(key), JSON.stringify(key), Buffer.from(key).toString('base64')]
  for (const form of [...forms, Buffer.from(key).toString('base64url')]) {
    const clean = redact(`asked ${form} in vain`, [key])
    expect(clean).toMatch(/^asked "?(?:\[redacted\])+"?=? in vain$/)
  }
  expect(redact('a b c', ['', 'b'])).toBe('a b c')
})

test('a text becomes one short line', () => {
  expect(shortened('a\n\tb\u0000c ', [], 300)).toBe('a b c')
  expect(shortened('x'.repeat(400), [], 300)).toBe(`${'x'.repeat(300)} …`)
})

test('a cut through the text leaves no part of a key', () => {
  const key = 'k3y-0f-s0me-length'
  expect(shortened(`${'word '.repeat(59)}${key}`, [key], 300)).not.toContain('k3y')
})
