/** Messages of a conversation from recorded JSON: of this version, of a newer version, and values that are no messages. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { readChatMessage } from '../../../../src/core/history/chat/chat-codec.ts'
import type { ChatMessage } from '../../../../src/core/history/chat/chat-message.ts'
import { chatMessageSchema } from '../../../../src/core/history/chat/chat-schema.ts'
import { ConversationHistory } from '../../../../src/core/history/history.ts'
import { anyJson, anyText } from '../../support/any-text.ts'

const finite = fc.integer()
const options = fc.option(
  fc.dictionary(anyText, fc.dictionary(anyText, fc.jsonValue(), { maxKeys: 2 }), { maxKeys: 2 }),
  {
    nil: undefined,
  },
)
const optionalText = fc.option(anyText, { nil: undefined })
const facts = fc.option(fc.dictionary(anyText, fc.jsonValue(), { maxKeys: 3 }), { nil: undefined })
const head = { id: anyText, at: finite }
const textBlock = fc.record({ type: fc.constant('text'), text: anyText, providerOptions: options })
const userBlock = fc.oneof(
  textBlock,
  fc.record({ type: fc.constantFrom('image', 'audio'), mediaType: anyText, data: optionalText, url: optionalText }),
  fc.record({ type: fc.constant('file'), mediaType: anyText, url: anyText, filename: optionalText }),
)
const assistantBlock = fc.oneof(
  textBlock,
  fc.record({ type: fc.constant('reasoning'), text: anyText, providerOptions: options }),
  fc.record({
    type: fc.constant('tool-call'),
    toolCallId: anyText,
    toolName: anyText,
    input: fc.jsonValue(),
    inputText: optionalText,
    providerOptions: options,
  }),
)
const usage = fc.record({
  inputTokens: fc.nat(),
  outputTokens: fc.nat(),
  cacheReadTokens: fc.option(fc.nat(), { nil: undefined }),
})
const output = fc.oneof(
  fc.record({ type: fc.constantFrom('text', 'error-text'), value: anyText }),
  fc.record({ type: fc.constant('json'), value: fc.jsonValue() }),
)
const anyMessage = fc
  .oneof(
    fc.record({ type: fc.constant('system'), ...head, text: anyText }),
    fc.record({ type: fc.constant('user'), ...head, from: optionalText, content: fc.array(userBlock), facts }),
    fc.record({
      type: fc.constant('assistant'),
      ...head,
      model: anyText,
      content: fc.array(assistantBlock),
      finishReason: fc.constantFrom('stop', 'length', 'tool-calls', 'content-filter', 'error', 'other'),
      usage,
    }),
    fc.record({
      type: fc.constant('toolResult'),
      ...head,
      toolCallId: anyText,
      toolName: anyText,
      status: fc.constantFrom('ok', 'error', 'cancelled', 'unknown'),
      output,
      facts,
    }),
    fc.record({ type: fc.constant('error'), ...head, message: anyText }),
    fc.record({ type: fc.constant('summary'), ...head, text: anyText, messagesCompacted: fc.nat() }),
  )
  .map((message) => message as unknown as ChatMessage)

const stamp = { id: 'm1', at: 1 }
const text = { type: 'text', text: 'a' }
const user = { type: 'user', ...stamp, content: [text] }
const assistant = {
  type: 'assistant',
  ...stamp,
  model: 'a/one',
  content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: {} }],
  finishReason: 'tool-calls',
  usage: { inputTokens: 1, outputTokens: 1 },
}
const result = {
  type: 'toolResult',
  ...stamp,
  toolCallId: 'c1',
  toolName: 'look',
  status: 'ok',
  output: { type: 'text', value: 'seen' },
}

/** The message without blocks of unknown types. */
function fitsTheSchema(message: object): boolean {
  const types = ['text', 'image', 'audio', 'file', 'reasoning', 'tool-call']
  const isKnown = (block: { type: unknown }) => types.includes(block.type as string)
  const content =
    'content' in message ? { content: (message as { content: { type: unknown }[] }).content.filter(isKnown) } : {}
  return chatMessageSchema.safeParse({ ...message, ...content }).success
}

/** All variants in which one field, at any depth, is left out or replaced by one of these values. */
function withOneFieldChanged(whole: unknown, values: readonly unknown[]): unknown[] {
  if (typeof whole !== 'object' || whole === null) return []
  return Object.entries(whole).flatMap(([name, inner]) => {
    const others = [...values, ...withOneFieldChanged(inner, values)]
    if (Array.isArray(whole)) return others.map((value) => whole.with(Number(name), value))
    const { [name]: _, ...rest } = whole as Record<string, unknown>
    return [rest, ...others.map((value) => ({ ...whole, [name]: value }))]
  })
}

describe('a message', () => {
  test('a message of any type is read from its JSON unchanged', () => {
    fc.assert(
      fc.property(anyMessage, (message) => {
        const recorded: unknown = JSON.parse(JSON.stringify(message))
        expect(readChatMessage(recorded)).toBe(recorded)
        expect(JSON.stringify(recorded)).toBe(JSON.stringify(message))
      }),
    )
  })

  test('a message that is accepted without the schema is accepted by the schema (CODEC-2)', () => {
    // One field of a good message is anything: whatever is still read must fit.
    const spoilt = fc.tuple(anyMessage, fc.nat(), anyJson, fc.nat()).map(([message, field, value, place]) => {
      const fields = JSON.parse(JSON.stringify(message)) as Record<string, unknown>
      const { content, output, usage } = fields
      const inner = [fields, output, usage, ...(Array.isArray(content) ? content : [])].filter(
        (part): part is Record<string, unknown> => typeof part === 'object' && part !== null,
      )
      const part = inner[place % inner.length] ?? fields
      const keys = Object.keys(part)
      part[keys[field % keys.length] ?? 'id'] = value
      return fields
    })
    fc.assert(
      fc.property(spoilt, (value) => {
        const message = readChatMessage(JSON.parse(JSON.stringify(value)))
        fc.pre(message !== null)
        expect(message).toSatisfy(fitsTheSchema)
      }),
      { numRuns: 500 },
    )
  })

  test('a message with one wrong field is accepted only if the schema accepts it (CODEC-2)', () => {
    const providerOptions = { one: { id: 'a' }, two: {} }
    const usage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 1, cacheWriteTokens: 1, reasoningTokens: 1 }
    const call = { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: {}, inputText: 'a', providerOptions }
    const said = [{ ...text, providerOptions }, { ...text, type: 'reasoning', providerOptions }, call]
    const image = { type: 'image', mediaType: 'image/png', data: 'a', url: 'b' }
    const file = { type: 'file', mediaType: 'text/plain', url: 'a', filename: 'b' }
    const whole: readonly Record<string, unknown>[] = [
      { type: 'system', ...stamp, text: 'a' },
      {
        ...user,
        from: 'w1',
        content: [text, image, { ...image, type: 'audio' }, file],
        facts: {},
      },
      { ...user, content: [{ ...text, providerOptions }] },
      { ...assistant, content: said, usage },
      { ...result, facts: {}, failure: { code: 'run_failed', message: 'a' } },
      { type: 'error', ...stamp, message: 'a' },
      { type: 'summary', ...stamp, text: 'a', messagesCompacted: 1 },
    ]
    for (const message of whole) {
      expect(message).toSatisfy(fitsTheSchema)
      const changed = withOneFieldChanged(message, [null, true, 7, 'word', [], {}, { a: 1 }]) as object[]
      expect(changed.filter((wrong) => readChatMessage(wrong) === wrong && !fitsTheSchema(wrong))).toEqual([])
    }
  })

  test.each([
    ['nothing', undefined],
    ['null', null],
    ['a text', 'hello'],
    ['a list', [user]],
    ['no type', { ...user, type: undefined }],
    ['an unknown type', { ...user, type: 'hologram' }],
    ['an entry of another sort', { type: 'received', v: 1, at: 1, run: 1, epoch: 1, message: {} }],
    ['no id', { ...user, id: undefined }],
    ['a time that is none', { ...user, at: 'now' }],
    ['a content that is no list', { ...user, content: 'a' }],
    ['a time beyond all numbers', { ...user, at: JSON.parse('1e999') as number }],
    ['a block that is no object', { ...user, content: ['a'] }],
    ['a known block with a wrong field', { ...user, content: [{ type: 'text', text: 7 }] }],
    ['a block without a type', { ...user, content: [{ text: 'a' }] }],
    ['a call without an id', { ...assistant, content: [{ type: 'tool-call', toolName: 'x', input: {} }] }],
    ['a call without arguments', { ...assistant, content: [{ type: 'tool-call', toolCallId: 'c', toolName: 'x' }] }],
    ['no usage', { ...assistant, usage: null }],
    ['no output', { ...result, output: undefined }],
    ['an output without a value', { ...result, output: { type: 'text' } }],
    ['an output of JSON without a value', { ...result, output: { type: 'json' } }],
    ['a status that is no word', { ...result, status: 7 }],
  ])('a value that is %s is not a message', (_, value) => {
    expect(readChatMessage(value)).toBeNull()
  })
})

describe('a message of a newer version', () => {
  test('unknown fields are kept everywhere (CODEC-1)', () => {
    const value = { ...user, v: 9, mood: 'fine', content: [{ ...text, colour: 'red' }] }
    expect(readChatMessage(value)).toBe(value)
  })

  test('unknown blocks are kept in the message and left out of prompts', () => {
    const hologram = { type: 'hologram', shape: 'cube' }
    const said = readChatMessage({ ...user, content: [hologram, text] })
    const answered = readChatMessage({ ...assistant, content: [...assistant.content, hologram] })
    expect(said).toMatchObject({ content: [hologram, text] })
    expect(answered).toMatchObject({ content: [{ toolCallId: 'c1' }, hologram] })
    const prompt = ConversationHistory.from([said as ChatMessage, answered as ChatMessage]).prompt()
    expect(prompt.map((part) => (part.role === 'tool' ? part.results : part.content).length)).toEqual([1, 1, 1])
  })

  test('unknown words are read as the nearest known word', () => {
    expect(readChatMessage({ ...assistant, finishReason: 'bored' })).toEqual({ ...assistant, finishReason: 'other' })
    expect(readChatMessage({ ...result, status: 'postponed' })).toEqual({ ...result, status: 'unknown' })
    expect(readChatMessage({ ...user, when: 'gently' })).toEqual({ ...user, when: 'steer' })
    const output = { type: 'video', value: 'AA==' }
    expect(readChatMessage({ ...result, output })).toEqual({ ...result, output: { type: 'json', value: output } })
  })
})

describe('malicious content', () => {
  const harmful =
    '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"$type":"Date","lc":1,"type":"constructor"}'

  test('malicious content stays plain data in a call, a fact, a field and an option', () => {
    const values = [
      `{"type":"user","id":"m1","at":1,"content":[{"type":"text","text":"a"}],"facts":${harmful},"__proto__":{"polluted":1}}`,
      `{"type":"assistant","id":"m1","at":1,"model":"m","content":[{"type":"tool-call","toolCallId":"__proto__","toolName":"constructor","input":${harmful}}],"finishReason":"bored","usage":{"inputTokens":1,"outputTokens":1,"__proto__":{"polluted":1}}}`,
      `{"type":"toolResult","id":"m1","at":1,"toolCallId":"__proto__","toolName":"constructor","status":"ok","output":{"type":"json","value":${harmful}},"facts":${harmful}}`,
      `{"type":"toolResult","id":"m1","at":1,"toolCallId":"c","toolName":"t","status":"?","output":${harmful.replace('"constructor"}', '"__proto__"}')}}`,
    ]
    const history = new ConversationHistory()
    for (const value of values) history.push(readChatMessage(JSON.parse(value)) as ChatMessage)
    expect(JSON.stringify(history.messages.slice(0, 1))).toBe(`[${values[0]}]`)
    expect(JSON.stringify(history.get(2))).toBe(values[2])
    expect(JSON.stringify(history.prompt())).toContain('"__proto__"')
    expect(({} as { polluted?: unknown }).polluted).toBeUndefined()
    expect(history.hasCall('__proto__')).toBe(true)
    for (const message of history.messages) expect((message as { polluted?: unknown }).polluted).toBeUndefined()
  })

  test('a value that is nested deeper than the stack does not throw', () => {
    const deep: unknown = JSON.parse(`${'['.repeat(200_000)}${']'.repeat(200_000)}`)
    const call = { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: deep }
    expect(readChatMessage({ ...assistant, content: [call] })).not.toBeNull()
    expect(readChatMessage({ ...assistant, content: [call, { type: 'hologram' }] })).toBeNull()
  })
})
