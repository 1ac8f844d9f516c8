/** What holds for all formats: nothing is lost that no list names, what is written obeys the rules, and odd input is refused in words. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { InputError, LimitError } from '../../src/core/errors.ts'
import type { ChatMessage } from '../../src/core/history/chat/chat-message.ts'
import { chat } from '../../src/core/history/chat/message-factories.ts'
import { encodeGivenHistory } from '../../src/core/history/given-history.ts'
import { pairedMessages } from '../../src/core/history/paired.ts'
import { formatNames, formats, readConversation, writeConversation } from '../../src/formats/formats.ts'
import { type Feature, featureNames, isEmpty, marksOf } from '../../src/formats/parts/features.ts'
import { isLong } from '../support/fault/fault-settings.ts'
import { anyHistory } from './support/any-history.ts'
import { rules } from './support/rules/rules.ts'

describe.each(formats.map((format) => [format.name, format] as const))('%s', (name, { losses }) => {
  test('a conversation that was written is read back without any loss that its list does not name', () => {
    fc.assert(
      fc.property(anyHistory, (given) => {
        const paired = pairedMessages(given).messages
        const messages = 'emptyMessages' in losses ? paired.filter((message) => !isEmpty(message)) : paired
        const { text } = writeConversation(messages, name)
        const isNothing = /^(\[\]|\{\})?$/.test(text.trim())
        const back = isNothing ? [] : readBack(text, name)
        const isKept = (feature: Feature) =>
          !(feature in losses || (feature === 'reasoningOrder' && 'reasoning' in losses))
        const kept = featureNames.filter(isKept)
        const lost = kept.flatMap((feature) => {
          const missing = without(marksOf(feature, messages), marksOf(feature, back))
          return missing.length === 0 ? [] : [`${feature}: ${missing.join(', ')}`]
        })
        expect(lost).toEqual([])
      }),
      { numRuns: isLong ? 300 : 150 },
    )
  })

  test('a conversation that was read back is written again as it was', () => {
    fc.assert(
      fc.property(anyHistory, (given) => {
        const { text } = writeConversation(given, name, { id: 'one', folder: '/work' })
        const back = readBack(text, name)
        if (back.length === 0) return
        const again = writeConversation(back, name, { id: 'one', folder: '/work' }).text
        const third = writeConversation(readBack(again, name), name, { id: 'one', folder: '/work' }).text
        expect(third).toBe(again)
      }),
      { numRuns: isLong ? 200 : 100 },
    )
  })

  test('a written conversation is recognised by its content', () => {
    fc.assert(
      fc.property(anyHistory, (given) => {
        const { text } = writeConversation(given, name)
        const back = readBack(text, name)
        expect(back.length > 0 ? readConversation(text).messages : []).toEqual(back)
      }),
      { numRuns: isLong ? 200 : 50 },
    )
  })

  test('a written conversation obeys the rules of the format, whatever happened', () => {
    fc.assert(
      fc.property(anyHistory, (given) => {
        expect(rules[name]?.(writeConversation(given, name).text) ?? []).toEqual([])
      }),
      { numRuns: isLong ? 300 : 150 },
    )
  })

  test('a conversation that was read begins a session', () => {
    fc.assert(
      fc.property(anyHistory, (given) => {
        const back = readBack(writeConversation(given, name).text, name)
        expect(encodeGivenHistory(back)).toHaveLength(back.length)
      }),
      { numRuns: isLong ? 100 : 50 },
    )
  })

  test('odd input is refused with a sentence, and nothing else is thrown', () => {
    fc.assert(
      fc.property(anyHistory, fc.array(damage, { minLength: 1, maxLength: 3 }), (given, damages) => {
        const text = damages.reduce((spoilt, spoil) => spoil(spoilt), writeConversation(given, name).text)
        for (const format of [name, undefined])
          expect(refusalOf(() => readConversation(text, { format }))).toMatch(/^$|\S \S/)
      }),
      { numRuns: isLong ? 300 : 150 },
    )
  })

  test('any JSON is read or refused with a sentence', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), (value) => {
        for (const given of [value, JSON.stringify(value), { messages: value }, [{ role: 'user', content: value }]])
          expect(refusalOf(() => readConversation(given, { format: name }))).toMatch(/^$|\S \S/)
      }),
      { numRuns: isLong ? 200 : 100 },
    )
  })
})

/** What is in the first list and not in the second, each as often as it is there. */
function without(all: readonly string[], found: readonly string[]): string[] {
  const left = [...found]
  return all.filter((one) => {
    const at = left.indexOf(one)
    if (at >= 0) left.splice(at, 1)
    return at < 0
  })
}

/** Empty if nothing of it could be written. */
function readBack(text: string, format: string) {
  try {
    return readConversation(text, { format }).messages
  } catch (thrown) {
    if (thrown instanceof InputError && thrown.message.endsWith('holds no message.')) return []
    throw thrown
  }
}

/** Empty if it was read. Throws an error that is no refusal. */
function refusalOf(read: () => unknown): string {
  try {
    read()
    return ''
  } catch (thrown) {
    if (thrown instanceof InputError || thrown instanceof LimitError) return thrown.message
    throw thrown
  }
}

/** Ways to spoil a text: cut it, or put another value in place of one. */
const damage: fc.Arbitrary<(text: string) => string> = fc.oneof(
  fc.nat(400).map((length) => (text: string) => text.slice(0, length)),
  fc
    .tuple(fc.nat(60), fc.constantFrom('null', '5', '"x"', '[]', '{}', '[[]]', 'true', '{"type":"x"}', '[null]'))
    .map(([skipped, value]) => (text: string) => {
      let place = skipped
      return text.replace(
        /("(?:[^"\\]|\\.)*")\s*:\s*("(?:[^"\\]|\\.)*"|[\d.]+|null|true|false|\[\]|\{\}|[[{])/g,
        (all, name: string, old: string) => {
          if (place-- !== 0 || /[[{]$/.test(old)) return all
          return `${name}: ${value}`
        },
      )
    }),
)

test('each format has a name and a title of its own', () => {
  expect(new Set(formatNames).size).toBe(formats.length)
  expect(new Set(formats.map(({ title }) => title)).size).toBe(formats.length)
})

test('the state machine of the design reads how each call was decided: one that ran was approved', () => {
  const stamp = (id: string) => ({ id, at: 1 })
  const calls = ['ran', 'denied', 'approved', 'pending', 'cancelled'] as const
  const results = calls.map((toolCallId): ChatMessage => {
    const isRefused = toolCallId !== 'ran' && toolCallId !== 'cancelled'
    return {
      type: 'toolResult',
      ...stamp(`r-${toolCallId}`),
      toolCallId,
      toolName: 'pay',
      status: toolCallId === 'ran' ? 'ok' : isRefused ? 'error' : 'cancelled',
      output: { type: 'text', value: 'x' },
      ...(isRefused && { approval: toolCallId }),
    }
  })
  const reply: ChatMessage = {
    type: 'assistant',
    ...stamp('m1'),
    model: 'test/m',
    content: calls.map((toolCallId) => ({ type: 'tool-call', toolCallId, toolName: 'pay', input: {} })),
    finishReason: 'tool-calls',
    usage: { inputTokens: 1, outputTokens: 1 },
  }
  const user: ChatMessage = { type: 'user', ...stamp('m0'), content: [{ type: 'text', text: 'go' }] }
  const { text } = writeConversation([user, reply, ...results], 'fsm')
  const statuses = [...text.matchAll(/"approval_status": "(\w+)"/g)].map(([, status]) => status)
  expect(statuses).toEqual(['Approved', 'Denied', 'Approved', 'Pending', 'Denied'])
})

test('a value that is no message is not written, and the error says which', () => {
  const hi = chat.user('hi')
  for (const [wrong, why] of [
    [{}, 'message 1 is wrong: type'],
    [null, 'message 1 is null'],
    [{ ...hi, content: 'hi' }, 'message 1 is wrong: content'],
  ] as const)
    for (const { name } of formats)
      expect(() => writeConversation([hi, wrong as never], name)).toThrow(
        expect.objectContaining({ code: 'input_invalid', message: expect.stringContaining(why) }),
      )
})

test('a ChatMessage names the model of a reply beside its signed reasoning: what it signed comes back', () => {
  const encrypted_content = { id: '', model: 'anthropic:claude-opus-4-6', content: 'signed' }
  const reply = {
    type: 'assistant',
    content: 'ok',
    reasoning: { summary_text: 'plan', encrypted_content },
    tool_calls: [],
  }
  const { messages } = readConversation([{ type: 'user', content: [{ type: 'text', text: 'hi' }] }, reply])
  expect(messages[1]).toMatchObject({ model: 'anthropic/claude-opus-4-6' })
  const written = JSON.parse(writeConversation(messages, 'chat-message').text)
  expect(written.messages[1].reasoning).toEqual(reply.reasoning)
})

test('what is kept beside a conversation stays with its session: the text says so, and a warning', () => {
  const [id, at] = ['x', 1]
  const call = { type: 'tool-call', toolCallId: 'c', toolName: 'look', input: {} } as const
  const image = { type: 'image', mediaType: 'image/png', url: `blob:${'0'.repeat(32)}`, bytes: 9 } as const
  const said: ChatMessage[] = [
    { type: 'user', id, at, content: [image] },
    {
      type: 'assistant',
      id,
      at,
      model: 'a/b',
      content: [call],
      finishReason: 'tool-calls',
      usage: { inputTokens: 0, outputTokens: 0 },
    },
    {
      type: 'toolResult',
      id,
      at,
      toolCallId: 'c',
      toolName: 'look',
      status: 'ok',
      output: { type: 'text', value: 'begin' },
      blob: { id: '0'.repeat(32), mediaType: 'text/plain', bytes: 9 },
    },
  ]
  const { text, warnings } = writeConversation(said, 'troupe')
  expect(text).not.toMatch(/blob|0{32}/)
  expect(text).toMatch(/\[image \(image\/png.*begin\\n\[The rest of this result stayed/s)
  expect(warnings).toEqual([expect.stringMatching(/^media .*: 1\./), expect.stringMatching(/^results .*: 1\./)])
})
