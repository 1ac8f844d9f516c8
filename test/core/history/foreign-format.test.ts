/** Messages and blocks in the formats of others are named, with their index and likely format (FOREIGN-1). */
import { describe, expect, test } from 'vitest'
import { InputError } from '../../../src/core/errors.ts'
import { contentProblem } from '../../../src/core/history/foreign-format.ts'
import { ConversationHistory } from '../../../src/core/history/history.ts'

const text = { type: 'text', text: 'Look.' }

test.each<[object, RegExp]>([
  [
    { type: 'image', mime_type: 'image/png', data: 'aGk=' },
    /^content\[1\] is wrong: mediaType: .* It looks like a block of Gemini or LangChain\. Write /,
  ],
  [{ type: 'image', mimeType: 'image/png', data: 'aGk=' }, /mediaType: .*MCP/],
  [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'aGk=' } }, /mediaType: .*Anthropic/],
  [
    { type: 'image', image: 'aGk=', mediaType: 'image/png' },
    /^content\[1\] has neither data nor url\. It looks like a block of the AI SDK/,
  ],
  [{ type: 'image', mediaType: 'image/png', base64: 'aGk=' }, /^content\[1\] has neither data nor url\. Write /],
  [{ type: 'image', mediaType: 'image/png', data: 5 }, /^content\[1\] is wrong: data: /],
  [
    { type: 'image_url', image_url: { url: 'https://x' } },
    /has the type "image_url"\. It looks like a block of OpenAI's chat completions/,
  ],
  [{ type: 'input_text', text: 'hi' }, /OpenAI's responses/],
  [{ type: 'input_audio', input_audio: {} }, /OpenAI's chat completions/],
  [{ type: 'document', source: {} }, /Anthropic/],
  [{ type: 'file', mediaType: 'text/plain', data: 'aGk=' }, /is wrong: url: /],
  [{ type: 'text', content: 'hi' }, /^content\[1\] is wrong: text: /],
])('%j as a block of an input is refused with a sentence', (block, sentence) => {
  expect(contentProblem({ content: [text, block] })).toMatch(sentence)
})

test.each([
  [{ content: [text] }],
  [{ content: [text, { type: 'image', mediaType: 'image/png', data: 'aGk=' }] }],
  [{ content: [] }],
  [{ content: 'hello' }],
  [{ content: [{ type: 'paragraph', text: 'of a document of the caller' }] }],
  [{ content: [text, { type: 'paragraph' }] }],
  [{ content: [{ mime_type: 'image/png' }], title: 'a form of the caller' }],
  ['hello'],
  [null],
  [[1]],
])('%j is an input like any other', (input) => {
  expect(contentProblem(input)).toBeNull()
})

test('an input with a role is refused, because an input is always the word of a user', () => {
  expect(contentProblem({ role: 'system', content: [text] })).toMatch(/^the field "role" does not belong to an input/)
})

const head = { id: 'm', at: 1 }
const said = { type: 'assistant', ...head, model: 'a/b', content: [], finishReason: 'stop' }

describe('a history from messages', () => {
  test.each<[unknown, RegExp]>([
    [
      { role: 'user', content: 'hi' },
      /^message 1 has no type of troupe\. It looks like a message of the AI SDK, OpenAI or Anthropic\. Write /,
    ],
    [{ role: 'user', parts: [{ text: 'hi' }] }, /Gemini, or of a user interface of the AI SDK/],
    [{ type: 'human', content: 'hi' }, /LangChain/],
    [{ type: 'message', role: 'user', content: [] }, /the AI SDK, OpenAI or Anthropic/],
    ['hi', /^message 1 is "hi" and no message/],
    [null, /^message 1 is null and no message/],
    [{ type: 'user', ...head, content: 'hi' }, /^message 1 is wrong: content: /],
    [{ type: 'user', id: 'm', content: [] }, /^message 1 is wrong: at: /],
    [
      { type: 'user', ...head, at: Number.NaN, content: [] },
      /^message 1 is wrong: at: expected number, received no number/,
    ],
    [
      { ...said, usage: { inputTokens: Number.NaN, outputTokens: 1 } },
      /^message 1 is wrong: usage\.inputTokens: expected number, received no number/,
    ],
    [{ ...said }, /^message 1 is wrong: usage: /],
    [
      { type: 'user', ...head, content: [{ type: 'image', mediaType: 'image/png' }] },
      /^message 1: content\[0\] has neither data nor url/,
    ],
    [
      { type: 'user', ...head, content: [{ type: 'image', mime_type: 'image/png', data: 'x' }] },
      /^message 1 is wrong: content\.0\.mediaType: /,
    ],
  ])('a history with %j names the message, the fault and the likely format, and adds nothing', (message, sentence) => {
    const first = { type: 'user', ...head, content: [text] }
    expect(() => ConversationHistory.from([first, message] as never)).toThrow(InputError)
    expect(() => ConversationHistory.from([first, message] as never)).toThrow(sentence)
    const history = ConversationHistory.from([first] as never)
    expect(() => history.push(message as never)).toThrow(sentence)
    expect(history.length).toBe(1)
  })

  test('a history read from its own JSON is the same conversation', () => {
    const messages = [
      { type: 'system', ...head, text: 'x' },
      { type: 'user', ...head, content: [text, { type: 'hologram', of: 'a newer version' }] },
      { ...said, usage: { inputTokens: 1, outputTokens: 1 }, finishReason: 'a newer word' },
    ]
    const history = ConversationHistory.from(messages as never)
    expect(ConversationHistory.from(JSON.parse(JSON.stringify(history))).toVec()).toEqual(history.toVec())
  })
})
