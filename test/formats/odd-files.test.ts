/** Files as other programs write them, with what is rare in them: each is recognised, and nothing that matters is lost. */
import { modelMessageSchema } from 'ai'
import { expect, test } from 'vitest'
import type { ChatMessage } from '../../src/core/history/chat/chat-message.ts'
import { readConversation, writeConversation } from '../../src/formats/formats.ts'

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
