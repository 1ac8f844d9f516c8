/** One conversation in each format, as it is written: a change of a byte is seen. `vitest -u` writes the files anew. */
import { expect, test } from 'vitest'
import type { ChatMessage } from '../../src/core/history/chat/chat-message.ts'
import { formats, readConversation, writeConversation } from '../../src/formats/formats.ts'

const at = Date.parse('2026-03-12T10:00:00.123Z')
const usage = { inputTokens: 20, outputTokens: 5 }
const call = (toolCallId: string, input: Record<string, string>) =>
  ({ type: 'tool-call', toolCallId, toolName: 'read_file', input }) as const

const conversation: readonly ChatMessage[] = [
  { type: 'system', id: 'm0', at, text: 'Be brief.' },
  {
    type: 'user',
    id: 'm1',
    at,
    name: 'alice',
    content: [
      { type: 'text', text: 'What do these say?' },
      { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgoAAAA=' },
    ],
  },
  {
    type: 'assistant',
    id: 'msg_1',
    at: at + 1_000,
    model: 'anthropic/claude-x',
    content: [
      { type: 'reasoning', text: 'I should read them.', providerOptions: { anthropic: { signature: 'c2ln' } } },
      { type: 'text', text: 'I read them.' },
      call('call_1', { path: 'a.txt' }),
      call('call_2', { path: 'b.txt' }),
    ],
    finishReason: 'tool-calls',
    usage,
  },
  {
    type: 'toolResult',
    id: 'm3',
    at: at + 2_000,
    toolCallId: 'call_1',
    toolName: 'read_file',
    status: 'ok',
    output: { type: 'json', value: { lines: 1 } },
  },
  {
    type: 'toolResult',
    id: 'm4',
    at: at + 3_000,
    toolCallId: 'call_2',
    toolName: 'read_file',
    status: 'error',
    output: { type: 'error-text', value: 'there is no b.txt' },
  },
  {
    type: 'assistant',
    id: 'm5',
    at: at + 4_000,
    model: 'anthropic/claude-x',
    content: [{ type: 'text', text: 'One says hello.' }],
    finishReason: 'stop',
    usage,
  },
  { type: 'user', id: 'm6', at: at + 5_000, content: [{ type: 'text', text: 'And c.txt?' }] },
  // Nobody answered this call.
  {
    type: 'assistant',
    id: 'm7',
    at: at + 6_000,
    model: 'anthropic/claude-x',
    content: [call('call_3', { path: 'c.txt' })],
    finishReason: 'tool-calls',
    usage,
  },
  { type: 'user', id: 'm8', at: at + 7_000, content: [{ type: 'text', text: 'Never mind.' }] },
]

test.each(formats.map(({ name }) => name))(
  'a conversation is written as %s, and recognised as that format',
  async (name) => {
    const { text } = writeConversation(conversation, name, { id: 'conversation', folder: '/srv/app' })
    await expect(text).toMatchFileSnapshot(
      `golden/${name}.${text.includes('\n{') && !text.startsWith('[') ? 'jsonl' : 'json'}`,
    )
    expect(readConversation(text).format).toBe(name)
  },
)
