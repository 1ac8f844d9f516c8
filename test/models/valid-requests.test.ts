/** What is sent is valid by the published rules of each provider, for any history: random, imported, and cut off anywhere. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { PromptMessage, ToolSpec } from '../../src/core/definition/model.ts'
import type { AssistantBlock, ChatMessage, UserBlock } from '../../src/core/history/chat/chat-message.ts'
import { chat } from '../../src/core/history/chat/message-factories.ts'
import { ContextContainer } from '../../src/core/history/context-container.ts'
import { decodeEntry } from '../../src/core/history/entry.ts'
import { encodeGivenHistory } from '../../src/core/history/given-history.ts'
import { ConversationHistory } from '../../src/core/history/history.ts'
import { apply, happenings } from '../core/support/any-conversation.ts'
import { anyHistory } from '../formats/support/any-history.ts'
import { isLong } from '../support/fault/fault-settings.ts'
import { requestFaults } from './support/request-rules.ts'
import { senders } from './support/sent-requests.ts'
import { requestOf } from './support/surfaces.ts'

const tools: readonly ToolSpec[] = ['look_up', 'write'].map((name) => ({
  name,
  description: `Does ${name}.`,
  inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
}))
const session = { sessionId: 's', workerId: 's', name: 'root', kind: 'k', parentId: null, depth: 0 }

/** What a model may also write: names that no tool has, halves of characters, signed and blank texts, reasoning that leads nowhere. */
const oddBlocks: readonly AssistantBlock[] = [
  { type: 'tool-call', toolCallId: 'odd', toolName: '9 lives/ä', input: {} },
  { type: 'tool-call', toolCallId: 'odd', toolName: '', input: null, inputText: '{"a":' },
  { type: 'tool-call', toolCallId: 'odd', toolName: 'n'.repeat(90), input: ['\ud83d'] },
  { type: 'text', text: 'half \ud83d' },
  { type: 'text', text: ' ', providerOptions: { other: { of: 'nobody' } } },
  { type: 'reasoning', text: '' },
  { type: 'reasoning', text: 'to the end' },
]
const odds = fc.array(fc.record({ at: fc.nat(13), block: fc.constantFrom(...oddBlocks), isFirst: fc.boolean() }), {
  maxLength: 3,
})

type Odd = { readonly at: number; readonly block: AssistantBlock; readonly isFirst: boolean }

function withOdds(messages: readonly ChatMessage[], list: readonly Odd[]) {
  return messages.map((message, at): ChatMessage => {
    if (message.type !== 'assistant') return message
    const mine = list.filter((one) => one.at === at)
    const [before, after] = [mine.filter(({ isFirst }) => isFirst), mine.filter(({ isFirst }) => !isFirst)]
    return {
      ...message,
      content: [...before.map(({ block }) => block), ...message.content, ...after.map(({ block }) => block)],
    }
  })
}

/** A model is asked after an input or after results, never after its own reply. */
function asked(history: ConversationHistory): readonly PromptMessage[] {
  const last = history.prompt().at(-1)
  if (last === undefined || last.role === 'assistant') history.push(chat.user('go on'))
  return history.prompt()
}

/** A history as a session has it that begins with messages from elsewhere. */
function imported(messages: readonly ChatMessage[]): ConversationHistory {
  const container = new ContextContainer(session)
  for (const entry of encodeGivenHistory(messages)) container.apply(decodeEntry(entry))
  return container.history
}

describe.each(senders)('$name', ({ protocol, bodyOf, id }) => {
  const faultsOf = async (messages: readonly PromptMessage[], instructions = 'You are terse.') =>
    requestFaults(protocol, await bodyOf(requestOf(messages, { tools, instructions })))
  /** Half of the replies are its own, with ids that it can have given: it gets back what it signed. */
  const asOwn = (messages: readonly ChatMessage[]) =>
    messages.map((message, at) => {
      if (message.type !== 'assistant' || at % 2 === 1) return message
      const isGiven = message.content.every(
        (block) => block.type !== 'tool-call' || /^[\w-]{1,40}$/.test(block.toolCallId),
      )
      return isGiven ? { ...message, model: id } : message
    })

  // Whoever records a call sees to it that its id is new (CHAT-2). Here ids come twice.
  test('a provider accepts requests built from any history, even one that no worker could have', async () => {
    const lives = fc.asyncProperty(happenings, async (list) => {
      const history = new ConversationHistory()
      for (const happening of list) apply(history, happening)
      const faults = await faultsOf(asked(history))
      const hasTwins = faults.some((fault) => fault.startsWith('an id of a call twice'))
      expect(hasTwins ? [] : faults).toEqual([])
    })
    await fc.assert(lives, { numRuns: isLong ? 150 : 75 })
  })

  test('a provider accepts requests built from a history from elsewhere, and from anything that models write', async () => {
    const lives = fc.asyncProperty(anyHistory, odds, async (messages, list) => {
      expect(await faultsOf(asked(imported(asOwn(withOdds(messages, list)))), ' ')).toEqual([])
    })
    await fc.assert(lives, { numRuns: isLong ? 200 : 100 })
  })

  test('a provider accepts a history that ends anywhere: in mid-batch, before a result, after a denial', async () => {
    const lives = fc.asyncProperty(anyHistory, fc.nat(13), async (messages, length) => {
      const history = imported(asOwn(messages.slice(0, length)))
      expect(await faultsOf(asked(history))).toEqual([])
      history.push(chat.user('later'))
      expect(await faultsOf(asked(history))).toEqual([])
    })
    await fc.assert(lives, { numRuns: isLong ? 100 : 50 })
  })
})

describe('media', () => {
  const png = Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1').toString('base64')
  const image = { type: 'image', mediaType: 'image/png', data: png } as const
  const looked = (value: readonly UserBlock[]): PromptMessage[] => [
    { role: 'user', content: [{ type: 'text', text: 'look' }] },
    {
      role: 'assistant',
      model: 'a/b',
      content: [{ type: 'tool-call', toolCallId: 'c1', toolName: 'look_up', input: {} }],
    },
    { role: 'tool', results: [{ toolCallId: 'c1', toolName: 'look_up', output: { type: 'content', value } }] },
  ]

  test.each(senders)(
    'media in results of tools reach $name as images, or as a note that names them',
    async ({ protocol, bodyOf, id }) => {
      const sound = { type: 'audio', mediaType: 'audio/wav', data: 'UklGRg==', filename: 'a.wav' } as const
      const body = await bodyOf(requestOf(looked([{ type: 'text', text: 'A picture.' }, image, sound]), { tools }))
      expect(requestFaults(protocol, body)).toEqual([])
      const text = JSON.stringify(body)
      expect(text).toContain('A picture.')
      expect(text).toMatch(/audio \\"a\.wav\\" left out: \S+ (?:takes no audio in results|does not take audio)/)
      expect(text.includes(png)).toBe(protocol !== 'openaiChat')
      expect(text.includes(`image left out: ${id} takes no image in results of tools`)).toBe(protocol === 'openaiChat')
      expect(text).not.toContain('UklGRg')
    },
  )

  test.each(senders)('a request to $name has at most ten images: the newest [1.35]', async ({ protocol, bodyOf }) => {
    const many = (count: number): PromptMessage => ({
      role: 'user',
      content: Array.from({ length: count }, () => ({ ...image })),
    })
    const reply: PromptMessage = { role: 'assistant', model: 'a/b', content: [{ type: 'text', text: 'Seen.' }] }
    for (const messages of [[many(7)], [many(7), reply, many(5)], [many(7), reply, many(5), reply, many(11)]]) {
      const body = await bodyOf(requestOf(messages, { tools }))
      expect(requestFaults(protocol, body)).toEqual([])
      const all = messages.flatMap((message) => (message.role === 'user' ? message.content : [])).length
      expect(JSON.stringify(body).split(png)).toHaveLength(Math.min(10, all) + 1)
      expect(JSON.stringify(body).split('a request holds at most 10 images, and there are newer ones')).toHaveLength(
        Math.max(0, all - 10) + 1,
      )
    }
  })

  test.each(senders)(
    'media of another type than they say reach $name as what they are',
    async ({ protocol, bodyOf }) => {
      const wrong: PromptMessage = { role: 'user', content: [{ ...image, mediaType: 'image/jpeg' }] }
      const text = JSON.stringify(await bodyOf(requestOf([wrong], { tools })))
      expect(text).toContain(protocol === 'bedrock' ? '"format":"png"' : 'image/png')
      expect(text).not.toContain('jpeg')
    },
  )
})
