/** Messages as providers get them. The compiler checks that the parts of troupe are parts of the SDK. */
import { type ModelMessage, modelMessageSchema, type TextPart, type ToolCallPart, type ToolResultPart } from 'ai'
import { expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import type { PromptMessage, PromptResult } from '../../../src/core/definition/model.ts'
import type {
  AssistantBlock,
  Json,
  TextBlock,
  ToolCallBlock,
  ToolOutput,
} from '../../../src/core/history/chat/chat-message.ts'
import { providerOptionsOf, SdkPrompt } from '../../../src/models/sdk/sdk-prompt.ts'
import { rawProvider } from '../support/raw-provider.ts'
import { errorOf, listener, openAt, requestOf, type Surface, surfaces, user } from '../support/surfaces.ts'

const prompt = () => new SdkPrompt('acme/large')

function assistant(content: readonly AssistantBlock[], model = 'acme/large'): PromptMessage {
  return { role: 'assistant', model, content }
}

function callWith(rest: Pick<ToolCallBlock, 'input' | 'inputText'>): AssistantBlock {
  return { type: 'tool-call', toolCallId: 'c', toolName: 't', ...rest }
}

test('the parts of troupe are parts of the SDK', () => {
  type Filled<T, Key extends keyof T> = { [K in Key]-?: T[K] }
  expectTypeOf<Filled<TextBlock, 'type' | 'text'>>().toExtend<TextPart>()
  expectTypeOf<Filled<ToolCallBlock, 'type' | 'toolCallId' | 'toolName' | 'input'>>().toExtend<ToolCallPart>()
  type PlainOutput = Exclude<ToolOutput, { type: 'content' }>
  expectTypeOf<Omit<PromptResult, 'output'> & { type: 'tool-result'; output: PlainOutput }>().toExtend<ToolResultPart>()
  expectTypeOf<PlainOutput>().toExtend<ToolResultPart['output']>()
  expectTypeOf<PromptMessage['role']>().toExtend<ModelMessage['role']>()
  expectTypeOf<{ acme: { signature: Json } }>().toExtend<NonNullable<TextPart['providerOptions']>>()
})

test('the SDK accepts each type of message', () => {
  const options = { acme: { signature: 'abc', nested: [1, null] } }
  const messages: PromptMessage[] = [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Look.', providerOptions: options },
        { type: 'image', mediaType: 'image/png', data: 'aGk=' },
        { type: 'audio', mediaType: 'audio/wav', url: 'https://example.test/a.wav' },
        { type: 'file', mediaType: 'text/plain', url: 'https://example.test/a.txt', filename: 'a.txt' },
      ],
    },
    assistant([
      { type: 'reasoning', text: 'Hm.', providerOptions: options },
      { type: 'text', text: 'I will.', providerOptions: options },
      { ...callWith({ input: { a: 1 } }), providerOptions: options },
    ]),
    { role: 'tool', results: [{ toolCallId: 'c', toolName: 't', output: { type: 'error-text', value: 'No.' } }] },
  ]
  const converted = prompt().messages(messages)
  expect(z.array(modelMessageSchema).safeParse(converted).error).toBeUndefined()
  expect(converted.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
  const at = (name: string) => ({ type: 'url', url: new URL(`https://example.test/${name}`) })
  expect(converted[0]).toMatchObject({
    content: [
      { type: 'text', providerOptions: options },
      { type: 'file', mediaType: 'image/png', data: { type: 'data', data: 'aGk=' } },
      { type: 'file', mediaType: 'audio/wav', data: at('a.wav') },
      { type: 'file', mediaType: 'text/plain', data: at('a.txt'), filename: 'a.txt' },
    ],
  })
  expect(converted[1]).toMatchObject({
    content: ['reasoning', 'text', 'tool-call'].map((type) => ({ type, providerOptions: options })),
  })
})

test('media without a valid address are replaced by a note, and the conversation goes on (SDK-PROMPT-1)', () => {
  const messages: PromptMessage[] = [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Look.' },
        { type: 'image', mediaType: 'image/png', url: 'photo.png' },
        { type: 'audio', mediaType: 'audio/wav' },
        { type: 'file', mediaType: 'text/plain', url: `${'x'.repeat(1_000)}\n` },
      ],
    },
  ]
  const converted = prompt().messages(messages)
  expect(z.array(modelMessageSchema).safeParse(converted).error).toBeUndefined()
  expect(converted[0]?.content).toEqual([
    { type: 'text', text: 'Look.' },
    { type: 'text', text: '(image left out: "photo.png" is not a valid address)' },
    { type: 'text', text: '(audio left out: "" is not a valid address)' },
    { type: 'text', text: `(file left out: "${'x'.repeat(200)}" is not a valid address)` },
  ])
})

test('a message is converted once', () => {
  const ours = prompt()
  const messages = [user('one'), user('two')]
  const [first] = ours.messages(messages)
  expect(ours.messages([...messages, user('three')])[0]).toBe(first)
})

test.each<[Pick<ToolCallBlock, 'input' | 'inputText'>, Json]>([
  [{ input: { a: 1 } }, { a: 1 }],
  [{ input: null }, {}],
  [{ input: [1] }, { arguments: [1] }],
  [{ input: 'text' }, { arguments: 'text' }],
  [{ input: null, inputText: '{"a": ' }, { arguments: '{"a": ' }],
])('arguments %j are sent as an object', (given, sent) => {
  const content = [expect.objectContaining({ input: sent })]
  expect(prompt().messages([assistant([callWith(given)])])).toEqual([{ role: 'assistant', content }])
})

test('half surrogate pairs are replaced everywhere, without changing the recorded message', () => {
  const recorded = assistant([callWith({ input: { 'k\ud800': ['\udc00', { deep: 'x\ud800' }] } })])
  const before = structuredClone(recorded)
  const results: PromptResult[] = [{ toolCallId: 'c', toolName: 't', output: { type: 'json', value: ['\ud800'] } }]
  const sent = prompt().messages([user('a\ud800'), recorded, { role: 'tool', results }])
  expect(JSON.stringify(sent)).not.toMatch(/\\ud[89a-f]/)
  expect(JSON.stringify(sent)).toContain('k\ufffd')
  expect(recorded).toEqual(before)
})

test.each([
  ['functions.look_up', 'functions_look_up'],
  ['multi tool<|x|>', 'multi_tool__x__'],
  ['n'.repeat(300), 'n'.repeat(64)],
  ['', 'unknown'],
  ['look-up_2', 'look-up_2'],
])('a call of tool %j, a name that a model invented, is sent back as a call of %j (SDK-PROMPT-1)', (toolName, sent) => {
  const called: AssistantBlock = { type: 'tool-call', toolCallId: 'c', toolName, input: {} }
  const results: PromptResult[] = [{ toolCallId: 'c', toolName, output: { type: 'error-text', value: 'unknown tool' } }]
  expect(prompt().messages([assistant([called]), { role: 'tool', results }])).toMatchObject([
    { content: [{ toolName: sent }] },
    { content: [{ toolName: sent }] },
  ])
})

test('a message without any content, or with nothing behind its reasoning, is left out', () => {
  const thought: AssistantBlock = { type: 'reasoning', text: 'Hm.' }
  expect(prompt().messages([assistant([thought], 'acme/small'), { role: 'tool', results: [] }])).toEqual([])
  expect(prompt().messages([assistant([thought])])).toEqual([])
})

test('an empty text goes back only if metadata came with it', () => {
  const empty: AssistantBlock = { type: 'text', text: '' }
  const signed: AssistantBlock = { ...empty, providerOptions: { acme: { signature: 'abc' } } }
  expect(prompt().messages([assistant([empty, signed])])).toEqual([{ role: 'assistant', content: [signed] }])
})

test.each(['\n\n', ' ', '\t'])('a text of white space, %j, goes only to the model that signed it', (text) => {
  const blank: AssistantBlock = { type: 'text', text, providerOptions: { acme: { itemId: 'x' } } }
  const said: AssistantBlock = { type: 'text', text: 'Hi.' }
  expect(prompt().messages([assistant([blank, said], 'other/small')])).toEqual([{ role: 'assistant', content: [said] }])
  expect(prompt().messages([assistant([blank], 'other/small')])).toEqual([])
  expect(prompt().messages([assistant([blank])])).toEqual([{ role: 'assistant', content: [blank] }])
})

test('metadata of a part goes back only to the model that made it', () => {
  const said: AssistantBlock = { type: 'text', text: 'Hi.', providerOptions: { acme: { itemId: 'x' } } }
  for (const own of ['acme/large-2025-09-29', 'acme/large-latest'])
    expect(prompt().messages([assistant([said], own)])).toMatchObject([{ content: [said] }])
  expect(prompt().messages([assistant([said], 'acme/large-fast')])).toEqual([
    { role: 'assistant', content: [{ type: 'text', text: 'Hi.' }] },
  ])
})

test('metadata of a part is kept only if it is plain JSON by provider', () => {
  expect(providerOptionsOf(undefined)).toBeUndefined()
  expect(providerOptionsOf({ acme: null })).toBeUndefined()
  expect(providerOptionsOf({ acme: { a: undefined, at: new Date(0), lone: '\ud800' }, odd: 'text' })).toEqual({
    acme: { at: '1970-01-01T00:00:00.000Z', lone: '\ufffd' },
  })
})

test('openai gets the whole conversation each time and is asked to store nothing', async () => {
  await using provider = await rawProvider((response) => {
    response.writeHead(400, { 'content-type': 'application/json' }).end('{}')
  })
  const openai = surfaces[1] as Surface
  const said: AssistantBlock = {
    type: 'text',
    text: 'Said before.',
    providerOptions: { openai: { itemId: 'msg_1' } },
  }
  const messages = [user('one'), assistant([said], 'openai/gpt-5'), user('two')]
  await errorOf(openAt(openai, provider.url, 'gpt-5').reply(requestOf(messages), listener()))
  const body = provider.requests[0]?.body ?? ''
  expect(JSON.parse(body)).toMatchObject({ store: false, include: ['reasoning.encrypted_content'] })
  expect(body).toContain('Said before.')
  expect(body).not.toContain('item_reference')
})

test('addresses in messages are passed on and not fetched', async () => {
  await using other = await rawProvider((response) => {
    response.end('secret')
  })
  await using provider = await rawProvider((response) => {
    response.writeHead(400, { 'content-type': 'application/json' }).end('{}')
  })
  const url = `${other.url}/inside.png`
  const message: PromptMessage = { role: 'user', content: [{ type: 'image', mediaType: 'image/png', url }] }
  await errorOf(openAt(surfaces[3] as Surface, provider.url).reply(requestOf([message]), listener()))
  expect(provider.requests[0]?.body).toContain(url)
  expect(other.requests).toEqual([])
})
