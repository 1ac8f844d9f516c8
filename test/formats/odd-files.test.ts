/** Files as other programs write them, with what is rare in them: each is recognised, and nothing that matters is lost. */
import { modelMessageSchema } from 'ai'
import { expect, test } from 'vitest'
import { InputError } from '../../src/core/errors.ts'
import type { ChatMessage } from '../../src/core/history/chat/chat-message.ts'
import { encodeGivenHistory } from '../../src/core/history/given-history.ts'
import { policy } from '../../src/core/policy.ts'
import { formatNames, readConversation, writeConversation } from '../../src/formats/formats.ts'

const png = 'iVBORw0KGgo='
const said = (messages: readonly ChatMessage[]) =>
  messages.map((message) => {
    if (message.type === 'toolResult') return ['result', message.output]
    return [message.type, 'content' in message ? message.content : 'text' in message ? message.text : '']
  })
const text = (text: string) => ({ type: 'text', text })
const image = { type: 'image', mediaType: 'image/png', data: png }

test.each<[string, unknown, string, unknown[]]>([
  [
    "a refusal in OpenAI's chat",
    {
      messages: [
        { role: 'user', content: 'x' },
        { role: 'assistant', content: null, refusal: 'No.' },
      ],
    },
    'openai-chat',
    [
      ['user', [text('x')]],
      ['assistant', [text('No.')]],
    ],
  ],
  [
    "a result with an image in OpenAI's responses",
    {
      input: [
        { role: 'user', content: 'x' },
        { type: 'function_call', call_id: 'c', name: 'n', arguments: '{}' },
        {
          type: 'function_call_output',
          call_id: 'c',
          output: [
            { type: 'input_text', text: 't' },
            { type: 'input_image', image_url: `data:image/png;base64,${png}` },
          ],
        },
      ],
    },
    'openai-responses',
    [
      ['user', [text('x')]],
      ['assistant', [{ type: 'tool-call', toolCallId: 'c', toolName: 'n', input: {} }]],
      ['result', { type: 'content', value: [text('t'), image] }],
    ],
  ],
  [
    "a log of OpenAI's responses with the text that was asked beside the reply",
    { input: 'x', output: [{ type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'y' }] }] },
    'openai-responses',
    [
      ['user', [text('x')]],
      ['assistant', [text('y')]],
    ],
  ],
  [
    "words of a user in OpenAI's responses",
    { model: 'gpt-5', input: [{ role: 'user', content: 'x' }] },
    'openai-responses',
    [['user', [text('x')]]],
  ],
  [
    'texts as blocks, which many programs write',
    {
      messages: [
        { role: 'system', content: [text('s')] },
        { role: 'user', content: [text('x')] },
        { role: 'assistant', content: 'y' },
      ],
    },
    'ai-sdk',
    [
      ['system', 's'],
      ['user', [text('x')]],
      ['assistant', [text('y')]],
    ],
  ],
  [
    "parts that are no list in Gemini's REST examples",
    {
      system_instruction: { parts: { text: 'Be brief.' } },
      contents: [{ parts: { text: 'x' } }, { role: 'model', parts: [{ text: 'y' }] }],
    },
    'gemini',
    [
      ['system', 'Be brief.'],
      ['user', [text('x')]],
      ['assistant', [text('y')]],
    ],
  ],
])('%s is read', (_what, given, format, messages) => {
  const read = readConversation(given)
  expect(read.format).toBe(format)
  expect(said(read.messages)).toEqual(messages)
})

test('a file named by an id marks a conversation as one of OpenAI', () => {
  const content = [{ type: 'file', file: { file_id: 'file-1' } }, text('x')]
  expect(readConversation({ messages: [{ role: 'user', content }] }).format).toBe('openai-chat')
})

test.each([
  { type: 'media', data: png, mediaType: 'image/png' },
  { type: 'file-data', data: png, mediaType: 'image/png' },
  { type: 'file', data: { type: 'data', data: png }, mediaType: 'image/png' },
])('an image in a result of the AI SDK is read and written again: $type', (part) => {
  const given = [
    { role: 'user', content: 'x' },
    { role: 'assistant', content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'n', input: {} }] },
    {
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId: 'c', toolName: 'n', output: { type: 'content', value: [text('a'), part] } },
      ],
    },
  ]
  const { messages } = readConversation(given)
  expect(said(messages).at(-1)).toEqual(['result', { type: 'content', value: [text('a'), image] }])
  const written = JSON.parse(writeConversation(messages, 'ai-sdk').text) as unknown[]
  expect(written.map((message) => modelMessageSchema.safeParse(message).success)).toEqual([true, true, true])
  expect(said(readConversation(written).messages)).toEqual(said(messages))
})

test('a log in which lines were cut is read without them, whatever the others hold', () => {
  const line = (kind: string, data: unknown) => JSON.stringify({ kind, data })
  const log = [
    JSON.stringify({ sessionId: 's', cwd: '/' }),
    line('user', { type: 'message', content: [text('x')] }),
    ...Array.from({ length: 40 }, () => '{"kind":"agent","data":{"Text":{"chunk":"cut'),
    line('agent', { Text: { chunk: '\u001b[1m'.repeat(200), is_complete: true } }),
  ]
  const { messages, warnings } = readConversation(log.join('\n'))
  expect(messages.map(({ type }) => type)).toEqual(['user', 'assistant'])
  expect(warnings).toHaveLength(40)
  const deep = `${'['.repeat(100)}${']'.repeat(100)}`
  expect(() => readConversation([...log, deep].join('\n'))).toThrow('line 44 is nested more than 80 deep')
  expect(() => readConversation('[\n'.repeat(100))).toThrow('the conversation is nested more than 80 deep')
})

test('a message of many long texts, or calls, is cut until a history takes it', () => {
  const long = 'a'.repeat(90_000)
  const calls = Array.from({ length: 30 }, () => ({ function: { name: 'n', arguments: `{"a":"${long}"}` } }))
  const { messages, warnings } = readConversation(
    [
      { role: 'user', content: Array.from({ length: 30 }, () => text(long)) },
      { role: 'assistant', content: '', tool_calls: calls },
    ],
    { format: 'openai-chat' },
  )
  expect(encodeGivenHistory(messages).every((entry) => Buffer.byteLength(entry) <= policy.messageBytesMax)).toBe(true)
  expect(warnings.filter((warning) => warning.includes('its texts were cut'))).toHaveLength(2)
})

test('a time that no date can hold is not known, or is refused in a message of troupe', () => {
  const { messages } = readConversation({ messages: [{ type: 'user', content: 'x', timestamp: 1.7e18 }] })
  expect(messages).toMatchObject([{ at: 0 }])
  expect(() => encodeGivenHistory([{ ...messages[0], at: 1.7e18 }])).toThrow(
    'message 0 has the time 1700000000000000000',
  )
})

test.each(formatNames)('a time that no date can hold is no reason to write nothing: %s', (format) => {
  const messages = [{ type: 'user', id: 'm', at: 1e300, content: [{ type: 'text', text: 'x' }] }] as const
  expect(() => writeConversation(messages, format)).not.toThrow()
})

test('a call that is null is refused with its place', () => {
  const message = { role: 'assistant', tool_calls: [null, { function: { name: 'n', arguments: '{}' } }] }
  expect(() => readConversation([{ role: 'user', content: 'x' }, message])).toThrow(InputError)
})

test.each<[string, unknown, string, unknown[]]>([
  [
    'parts of results in OpenAI chat',
    [
      { role: 'assistant', content: null, tool_calls: [{ id: 'c', function: { name: 'n', arguments: '{}' } }] },
      { role: 'tool', tool_call_id: 'c', content: [text('a'), { type: 'image_url', image_url: { url: 'https://x' } }] },
    ],
    'a part of type "image_url"',
    [
      ['assistant', [{ type: 'tool-call', toolCallId: 'c', toolName: 'n', input: {} }]],
      ['result', { type: 'text', value: 'a' }],
    ],
  ],
  [
    'further choices',
    { choices: [{ message: { role: 'assistant', content: 'a' } }, { message: { role: 'assistant', content: 'b' } }] },
    'the first of 2 choices was read',
    [['assistant', [text('a')]]],
  ],
  [
    'further candidates',
    { candidates: [{ content: { role: 'model', parts: [{ text: 'a' }] } }, {}] },
    'the first of 2 candidates was read',
    [['assistant', [text('a')]]],
  ],
  [
    'an item between what a model thought and said',
    {
      output: [
        { type: 'reasoning', id: 'r', summary: [] },
        { type: 'web_search_call', id: 'w' },
        { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'a' }] },
      ],
      object: 'response',
    },
    'an item of type "web_search_call"',
    [['assistant', [{ type: 'reasoning', text: '', providerOptions: { openai: { itemId: 'r' } } }, text('a')]]],
  ],
])('what is left out is told: %s', (_what, given, warning, messages) => {
  const read = readConversation(given)
  expect(said(read.messages)).toEqual(messages)
  expect(read.warnings).toEqual([expect.stringContaining(warning)])
})

test('a result with media and without its call becomes a text that says what they were', () => {
  const output = [{ type: 'input_image', image_url: `data:image/png;base64,${png}` }]
  const { messages } = readConversation({
    input: [
      { role: 'user', content: 'x' },
      { type: 'function_call_output', call_id: 'c', output },
    ],
  })
  expect(said(messages)[1]).toEqual(['user', [text('[result of a tool, without its call] [image (image/png, 8 B)]')]])
})

test('a stop reason with the name of a property of every object is no known reason', () => {
  const message = { role: 'assistant', content: 'y', stop_reason: 'constructor' }
  expect(readConversation([message], { format: 'anthropic' }).messages).toMatchObject([{ finishReason: 'stop' }])
})
