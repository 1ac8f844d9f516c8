/** Sessions that begin with a conversation that was held elsewhere. */
import { describe, expect, test } from 'vitest'
import type { CreateSession } from '../../../src/client/submission/submission.ts'
import { defineWorker } from '../../../src/core/definition/define-worker.ts'
import { InputError, LimitError } from '../../../src/core/errors.ts'
import type { ChatMessage } from '../../../src/core/history/chat/chat-message.ts'
import { chat } from '../../../src/core/history/chat/message-factories.ts'
import { say } from '../../../src/models/local/scripted-model.ts'
import { recordedModel } from '../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../support/test-troupe.ts'
import { waitUntil } from '../../support/time/wait-until.ts'

const head = (id: string) => ({ id, at: 1_700_000_000_000 })
const lookUp = { type: 'tool-call', toolCallId: 'c1', toolName: 'look_up', input: { word: 'ox' } } as const
const history: readonly ChatMessage[] = [
  chat.system('Answer in one word.', head('s')),
  chat.user('What is an ox?', head('m0')),
  chat.assistant([lookUp], { ...head('a'), model: 'other/model' }),
  chat.tool('c1', 'an animal', { ...head('t'), toolName: 'look_up' }),
  chat.assistant('An animal.', { ...head('b'), model: 'other/model' }),
]

function talker() {
  const model = recordedModel('test/one', (request) => say(`was sent ${request.messages.length}`))
  return { model, workers: { talker: defineWorker({ instructions: 'Talk.', model }) } }
}

describe('a session that begins with a history', () => {
  test('a session that begins with a history goes on with it: its first message follows what was said elsewhere [1.6]', async () => {
    const { model, workers } = talker()
    await using troupe = await TestTroupe.start({ workers })
    const session = await troupe.create('talker', 'And a cow?', { history })
    expect(await session.result()).toMatchObject({ run: 1, value: { text: 'was sent 5' } })
    const [request] = model.requests
    expect(request?.instructions).toBe('Talk.\n\nAnswer in one word.')
    expect(request?.messages).toMatchObject([
      { role: 'user', content: [{ text: 'What is an ox?' }] },
      { role: 'assistant', content: [lookUp] },
      { role: 'tool', results: [{ toolCallId: 'c1', output: { value: 'an animal' } }] },
      { role: 'assistant', content: [{ text: 'An animal.' }] },
      { role: 'user', content: [{ text: 'And a cow?' }] },
    ])
    expect(await troupe.client.audit()).toMatchObject({ findings: [] })
  })

  test('a session that begins with a history is idle without an input until a message comes, and the audit finds nothing before and after', async () => {
    const { workers } = talker()
    await using troupe = await TestTroupe.start({ workers })
    const session = await troupe.client.sessions.create({ kind: 'talker', history, keepOpen: true })
    expect(await session.report()).toMatchObject({ session: { state: 'active' }, workers: [{ historyLength: 5 }] })
    expect(await troupe.client.audit()).toMatchObject({ sessions: 1, findings: [] })
    await session.root.send('And a cow?')
    expect(await session.result({ run: 1 })).toMatchObject({ value: { text: 'was sent 5' } })
    await session.root.send('And a hen?')
    expect(await session.result({ run: 2 })).toMatchObject({ value: { text: 'was sent 7' } })
    const entries = await troupe.history(session.rootId)
    expect(entries.map(({ run }) => run)).toEqual([0, 0, 0, 0, 0, 1, 1, 1, 2, 2, 2])
    expect(await troupe.client.audit()).toMatchObject({ findings: [] })
  })

  test('a session that begins with a history can be cancelled while it is idle, even with a call that nobody answered', async () => {
    const { workers } = talker()
    await using troupe = await TestTroupe.start({ workers })
    const session = await troupe.client.sessions.create({
      kind: 'talker',
      history: history.slice(0, 3),
      keepOpen: true,
    })
    await session.cancel('enough')
    await waitUntil('the end of the session', async () => (await session.summary()).state === 'cancelled')
    const entries = await troupe.history(session.rootId)
    expect(entries.map(({ type }) => type)).toEqual(['system', 'user', 'assistant', 'toolResult'])
    expect(await troupe.client.audit()).toMatchObject({ findings: [] })
  })

  test('a session that begins with a history is found again under its key, and another history under that key is another request', async () => {
    await using troupe = await TestTroupe.connect()
    const order = { kind: 'later', keepOpen: true, history, idempotencyKey: 'k' }
    const first = await troupe.client.sessions.create(order)
    const again = await troupe.client.sessions.create(order)
    const other = await troupe.client.sessions.create({ ...order, history: history.slice(0, 2) })
    expect([again.id, other.id]).toEqual([first.id, first.id])
    expect([again.warning, other.warning].map((warning) => warning?.includes('for something else'))).toEqual([
      false,
      true,
    ])
  })

  test('a session that begins with 10 000 messages is created and read', async () => {
    const { model, workers } = talker()
    await using troupe = await TestTroupe.start({ workers })
    const long = Array.from({ length: 5_000 }, (_, n) => [
      chat.user(`question ${n}`),
      chat.assistant(`answer ${n}`),
    ]).flat()
    const session = await troupe.create('talker', 'the last', { history: long })
    expect(await session.result()).toMatchObject({ value: { text: 'was sent 10001' } })
    expect(model.requests[0]?.messages[9_999]).toMatchObject({ content: [{ text: 'answer 4999' }] })
  })

  const refused: readonly [what: string, order: Partial<CreateSession>, error: unknown, says: RegExp][] = [
    ['no input', { history }, InputError, /needs an input, or keepOpen: true/],
    [
      'a message of another format',
      { history: [{ role: 'user' }] as never, input: 1 },
      InputError,
      /message 0 .*OpenAI/,
    ],
    ['no list', { history: 'x' as never, input: 1 }, InputError, /history of sessions.create must be a list/],
    [
      'a message without a time',
      { history: [{ ...history[1], at: Number.NaN } as never], input: 1 },
      InputError,
      /message 0/,
    ],
    [
      'a message that is too large',
      { history: [chat.user('x'.repeat(2 ** 20))], input: 1 },
      LimitError,
      /message 0 of the history has .* Shorten it, or leave it out\.$/,
    ],
    [
      'too many messages',
      { history: Array.from({ length: 50_001 }, () => history[0]) as never, input: 1 },
      LimitError,
      /50001 messages; the limit is 50000\. Leave out the oldest\.$/,
    ],
  ]
  test.each(refused)('a session that begins with a history is refused with %s', async (_what, order, error, says) => {
    await using troupe = await TestTroupe.connect()
    const thrown: unknown = await troupe.client.sessions
      .create({ kind: 'later', ...order })
      .catch((reason: unknown) => reason)
    expect(thrown).toBeInstanceOf(error)
    expect((thrown as Error).message).toMatch(says)
  })
})
