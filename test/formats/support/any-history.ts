/** Duty: any conversation, with all that messages may hold, in any order: also calls that nobody answered and results of no call. */
import fc from 'fast-check'
import type {
  AssistantBlock,
  ChatMessage,
  Json,
  ToolOutput,
  UserBlock,
} from '../../../src/core/history/chat/chat-message.ts'

const at = fc.constantFrom(0, 1_700_000_000_000, 1_766_000_000_123)
const id = fc.constantFrom('', '', 'm3', 'msg_1', 'msg_2', '0b0f8f4e-52a6-4c0f-9a3e-2f1f6f0f4a11')
const head = { id, at }
/** Few, so that they meet. */
const callId = fc.constantFrom('c1', 'c2', 'call_3', 'odd id: ä', `long-${'x'.repeat(60)}`)
const toolName = fc.constantFrom('look_up', 'write', 'server/odd.name')
const words = fc.constantFrom(
  'hi',
  'two\nlines',
  ' ',
  '',
  'naïve 🙂 "quoted"',
  '{"json":true}',
  '> a line',
  'Error: no',
)
const text = words.map((text) => ({ type: 'text', text }) as const)
const image: fc.Arbitrary<UserBlock> = fc.constantFrom<UserBlock>(
  { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgoAAAA=' },
  { type: 'image', mediaType: 'image/*', data: '/9j/AAAA' },
  { type: 'image', mediaType: 'image/*', url: 'https://example.com/a.png' },
  { type: 'audio', mediaType: 'audio/wav', data: 'UklGRg==' },
  { type: 'audio', mediaType: 'audio/ogg', data: 'T2dnUw==' },
  { type: 'file', mediaType: 'application/pdf', url: 'https://example.com/a.pdf', filename: 'a.pdf' },
  { type: 'file', mediaType: 'application/pdf', url: 'data:application/pdf;base64,JVBERg==', filename: 'b.pdf' },
)
const userBlock: fc.Arbitrary<UserBlock> = fc.oneof({ weight: 5, arbitrary: text }, image)
const input = fc.constantFrom<Json>(
  {},
  { path: 'a', deep: [{ n: 1.5 }] },
  { __proto__: null, q: 'x' },
  null,
  'text',
  ['a'],
  7,
)
const call = fc.record({ type: fc.constant('tool-call' as const), toolCallId: callId, toolName, input })
const options = fc.constantFrom(
  { anthropic: { signature: 'sig' } },
  { openai: { itemId: 'rs_1' } },
  { google: { thoughtSignature: 's' } },
)
const assistantBlock: fc.Arbitrary<AssistantBlock> = fc.oneof(
  { weight: 4, arbitrary: text },
  { weight: 4, arbitrary: call },
  call.map((one): AssistantBlock => ({ ...one, input: null, inputText: '{"cut of' })),
  fc.constant<AssistantBlock>({ type: 'reasoning', text: 'hm' }),
  options.map((providerOptions): AssistantBlock => ({ type: 'reasoning', text: 'signed', providerOptions })),
  options.map((providerOptions): AssistantBlock => ({ type: 'text', text: 'signed text', providerOptions })),
)
const content: fc.Arbitrary<ToolOutput> = fc
  .array(userBlock, { minLength: 1, maxLength: 2 })
  .map((value): ToolOutput => ({ type: 'content', value }))
const output: fc.Arbitrary<ToolOutput> = fc.oneof(
  fc.constantFrom('done', '', 'Error: no').map((value): ToolOutput => ({ type: 'text', value })),
  fc.constantFrom<Json>({ n: 1 }, [], 5, null).map((value): ToolOutput => ({ type: 'json', value })),
  content,
)
const usage = fc.constantFrom({ inputTokens: 0, outputTokens: 0 }, { inputTokens: 12, outputTokens: 3 })

const message: fc.Arbitrary<ChatMessage> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      ...head,
      type: fc.constant('user' as const),
      name: fc.constantFrom(undefined, undefined, 'alice'),
      from: fc.constantFrom(undefined, undefined, 'w1'),
      facts: fc.constantFrom(undefined, undefined, { secret: 1 }),
      content: fc.array(userBlock, { maxLength: 3 }),
    }),
  },
  {
    weight: 5,
    arbitrary: fc.record({
      ...head,
      type: fc.constant('assistant' as const),
      model: fc.constantFrom('unknown/unknown', 'openai/gpt-x', 'anthropic/claude-x'),
      content: fc.array(assistantBlock, { maxLength: 4 }),
      finishReason: fc.constantFrom('stop', 'tool-calls', 'length'),
      usage,
    }),
  },
  {
    weight: 6,
    arbitrary: fc
      .record({
        ...head,
        toolCallId: callId,
        toolName,
        output,
        status: fc.constantFrom('ok', 'ok', 'error', 'cancelled', 'unknown'),
      })
      .map(
        ({ output, ...rest }): ChatMessage => ({
          type: 'toolResult',
          ...rest,
          output: rest.status === 'ok' ? output : { type: 'error-text', value: 'it failed' },
        }),
      ),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom<ChatMessage>(
      { type: 'system', id: '', at: 0, text: 'Be brief.' },
      { type: 'system', id: 'sys', at: 1_700_000_000_000, text: 'Be kind.' },
      { type: 'error', id: '', at: 1_700_000_000_000, message: 'overloaded' },
      { type: 'summary', id: '', at: 1_700_000_000_000, text: 'so far', messagesCompacted: 12 },
    ),
  },
)

/** Leaves out fields that nobody set. */
const clean = (one: ChatMessage): ChatMessage => JSON.parse(JSON.stringify(one)) as ChatMessage

export const anyHistory: fc.Arbitrary<ChatMessage[]> = fc.array(message.map(clean), { minLength: 1, maxLength: 14 })
