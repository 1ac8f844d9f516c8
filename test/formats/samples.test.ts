/** Each format as the designs and the interfaces have it: what is recognised, and what is read. */
import { describe, expect, test } from 'vitest'
import { chat } from '../../src/core/history/chat/message-factories.ts'
import { readConversation, writeConversation } from '../../src/formats/formats.ts'
import { pairSamples, qState } from './support/samples/pair-samples.ts'
import { event, fsmContext, programSamples, timestamp } from './support/samples/program-samples.ts'
import { providerSamples } from './support/samples/provider-samples.ts'
import { lines, shape } from './support/samples/sample.ts'

const samples = [...pairSamples, ...providerSamples, ...programSamples]

describe('a conversation', () => {
  test.each(samples)('%s', (_what, format, given, expected) => {
    for (const text of [given, typeof given === 'string' ? given : JSON.stringify(given)]) {
      const read = readConversation(text)
      expect({ format: read.format, messages: shape(read.messages) }).toEqual({ format, messages: expected })
    }
  })

  test('a conversation keeps times, ids, models, usage and why replies ended, where the format has them', () => {
    const claude = readConversation({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'claude-x',
      content: [{ type: 'text', text: 'hi' }],
      stop_reason: 'max_tokens',
      usage: { input_tokens: 5, output_tokens: 1 },
    })
    expect(claude.messages[0]).toMatchObject({
      id: 'msg_1',
      model: 'anthropic/claude-x',
      finishReason: 'length',
      usage: { inputTokens: 5, outputTokens: 1 },
    })
    expect(readConversation(qState)).toMatchObject({
      id: qState.conversation_id,
      messages: [{ at: Date.parse('2025-12-29T16:08:02.157Z') }, { id: '3ae5' }, {}, {}],
    })
    expect(readConversation([{ type: 'system', content: 'x', timestamp }]).messages[0]?.at).toBe(Date.parse(timestamp))
  })

  test('a conversation with several workers or branches is read as one of them, and a warning names the others', () => {
    const two = lines(event('prompt_received', { text: 'hi' }), {
      type: 'prompt_received',
      worker_id: 'w-2',
      text: 'ho',
      timestamp: 1,
    })
    expect(readConversation(two)).toMatchObject({ id: 'w-1', warnings: [expect.stringContaining('w-2')] })
    expect(shape(readConversation(two, { conversation: 'w-2' }).messages)).toEqual(['user: ho'])
    const context = fsmContext('Idle')
    const branches = {
      ...context.branches,
      other: { name: 'other', message_ids: ['a'], system_prompt: null, user_prompt: null },
    }
    expect(shape(readConversation({ ...context, branches }, { conversation: 'other' }).messages)).toEqual([
      'user: look',
    ])
    expect(() => readConversation({ ...context, branches }, { conversation: 'none' })).toThrow(
      'branches has no branch "none": it has main, other.',
    )
  })
})

const refusals: readonly [what: string, given: unknown, format: string | undefined, says: string | RegExp][] = [
  ['text that is no JSON', 'hello', undefined, /^the conversation is not JSON: .*\.$/],
  ['nothing', '  ', undefined, 'the conversation is empty.'],
  [
    'JSON of no format',
    { a: 1 },
    undefined,
    /^the format of the conversation was not recognised: name it, one of troupe, /,
  ],
  ['a list without messages', '[]', 'openai-chat', 'the conversation (openai-chat) holds no message.'],
  [
    'a call without a name',
    { messages: [{ role: 'assistant', tool_calls: [{ id: 'a', function: {} }] }] },
    'openai-chat',
    'messages[0].tool_calls[0].function.name is missing: it must be a text.',
  ],
  [
    'a role that is none',
    [{ role: 'robot', content: 'x' }],
    'flat',
    '[0].role must be one of system, user, assistant, tool, not "robot".',
  ],
  [
    'a line whose field is of another sort',
    lines(
      { kind: 'user', data: { type: 'message', content: [] } },
      { kind: 'user', data: { type: 'message', content: [{ type: 'text', text: 5 }] } },
    ),
    undefined,
    'line 2: data.content[0].text must be a text, not 5.',
  ],
  ['a row whose value is no JSON', { key: '/p', value: 'x' }, undefined, /^the conversation is not JSON/],
  [
    'a value that is nested too deeply',
    '['.repeat(200) + ']'.repeat(200),
    undefined,
    'the conversation is nested more than 80 deep.',
  ],
  [
    'a message that is not in the pool',
    { ...fsmContext('Idle'), message_pool: {} },
    'fsm',
    'branches.main.message_ids[0] names the message a, which is not in the pool.',
  ],
]
test.each(refusals)('%s is refused with a sentence', (_what, given, format, says) => {
  expect(() => readConversation(given, { format })).toThrow(says)
})

test('a field with the name of a property that every object has is a field like any other', () => {
  const text =
    '[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"__proto__","name":"constructor","arguments":{"__proto__":{"a":1}}}]}]'
  const { messages } = readConversation(text)
  expect(shape(messages)[1]).toBe('assistant: calls constructor {"__proto__":{"a":1}}')
})

test('a part that is larger than a history takes is made smaller, with a warning', () => {
  const large = 'x'.repeat(3_000_000)
  const png = (data: string) => ({ type: 'image_url', image_url: { url: `data:image/png;base64,${data}` } })
  const [image, icon] = [png(large), png('x'.repeat(9_000))]
  const { messages, warnings } = readConversation({
    messages: [
      { role: 'user', content: [{ type: 'text', text: 'see' }, image] },
      {
        role: 'assistant',
        content: null,
        tool_calls: [{ id: 'a', type: 'function', function: { name: 'f', arguments: `{"a":"${large}"}` } }],
      },
      { role: 'tool', tool_call_id: 'a', content: large },
      { role: 'user', content: [{ type: 'text', text: 'see' }, ...Array.from({ length: 200 }, () => icon)] },
    ],
  })
  expect(shape(messages)[0]).toBe('user: see | [image: image/png]')
  expect(messages.map((message) => JSON.stringify(message).length < 2 ** 20)).toEqual([true, true, true, true])
  expect(warnings).toEqual([
    'message 0 is larger than 1 MiB: its media became notes.',
    'message 1 is larger than 1 MiB: its texts were cut.',
    'message 2 is larger than 1 MiB: its texts were cut.',
    'message 3 is larger than 1 MiB: its media became notes.',
  ])
})

test('a saved file whose history was cleared is read from its transcript, with a warning', () => {
  const transcript = [
    '> /model',
    '> look> \nthere',
    'I look.\n[Tool uses: fs_read]',
    '\n\nIt is empty.\n[Tool uses: none]',
  ]
  const { messages, warnings } = readConversation({ ...qState, history: [], transcript })
  expect(shape(messages)).toEqual(['user: look\nthere', 'assistant: I look.', 'assistant: It is empty.'])
  expect(warnings).toEqual([expect.stringContaining('the transcript was read')])
  const summarised = readConversation({ ...qState, history: [], transcript, latest_summary: ['so far', {}] })
  expect(shape(summarised.messages)).toEqual(['summary: so far'])
})

test('a name that OpenAI would refuse is written without the refused characters', () => {
  const said = [chat.user('hi', { name: 'Ada <ada@x> \\ 1' })]
  expect(JSON.parse(writeConversation(said, 'openai-chat').text)).toMatchObject({
    messages: [{ name: 'Ada__ada@x____1' }],
  })
})

test('a table of several conversations is refused until one of them is named', () => {
  const rows = ['/a', '/b'].map((key) => ({ key, value: JSON.stringify(qState) }))
  expect(() => readConversation(rows)).toThrow('there are 2 rows. Name the conversation of one of them: /a, /b.')
  expect(readConversation(rows, { conversation: '/b' }).title).toBe('/b')
})
