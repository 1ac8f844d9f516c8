/** What the prompts of an agent hold is changed from outside while it rests, and nothing that is stored is rewritten. */
import { describe, expect, test } from 'vitest'
import { defineWorker } from '../../../../src/core/definition/define-worker.ts'
import type { ModelRequest } from '../../../../src/core/definition/model.ts'
import { chat } from '../../../../src/core/history/chat/message-factories.ts'
import { say } from '../../../../src/models/local/scripted-model.ts'
import { recordedModel } from '../../../support/provider/recorded-model.ts'
import { TestTroupe } from '../../../support/test-troupe.ts'
import { awaitIdle } from '../../../support/time/await-session.ts'

const isHandoff = ({ instructions }: ModelRequest) => instructions.startsWith('You write the handoff')
const sentOf = (request: ModelRequest | undefined) => JSON.stringify(request?.messages)

/** A conversation whose agent answers `answer to <last text>`; its provider counts what `tokens` says. */
async function conversation(tokens: readonly number[] = []) {
  let asked = 0
  const model = recordedModel('test/m', (request) => {
    if (isHandoff(request)) return say('They counted.')
    const inputTokens = tokens[asked++] ?? 10
    const last = request.messages.at(-1)
    const text =
      last?.role === 'user' ? last.content.map((block) => (block.type === 'text' ? block.text : '')).at(-1) : ''
    return { ...say(`answer to ${text}`), usage: { inputTokens, outputTokens: 0 } }
  })
  const agent = defineWorker({ instructions: 'x', model, compaction: { window: 1_000, keep: 2 } })
  const handler = defineWorker({ receive: (_message, self) => self.reply('done') })
  const troupe = await TestTroupe.start({ workers: { agent, handler } })
  const session = await troupe.create('agent', 'one', { keepOpen: true })
  await session.result({ run: 1 })
  let run = 1
  const ask = async (text: string) => {
    await session.root.send(text)
    await session.result({ run: ++run })
    return sentOf(model.requests.filter((request) => !isHandoff(request)).at(-1))
  }
  const rest = () => awaitIdle(session)
  return { troupe, session, root: session.root, model, ask, rest, sent: () => model.requests.map(sentOf) }
}

async function findings({ troupe, session }: Awaited<ReturnType<typeof conversation>>) {
  return (await troupe.client.audit({ sessionId: session.id })).findings
}

describe('a conversation that is taken back as a whole', () => {
  test('a conversation that is taken back as a whole begins anew with its system messages, and redo brings it back [4.5, 4.12]', async () => {
    const talk = await conversation()
    await using _ = talk.troupe
    await talk.rest()
    await talk.root.push(chat.system('Be brief.'))
    await talk.ask('two')
    await talk.rest()
    await talk.root.undo({ all: true })
    const { history } = await talk.root.context()
    expect(history.messages.map(({ type }) => type)).toEqual(['system'])
    const sent = await talk.ask('three')
    expect(sent).toBe(JSON.stringify([{ role: 'user', content: [{ type: 'text', text: 'three' }] }]))
    expect(talk.model.requests.at(-1)?.instructions).toBe('x\n\nBe brief.')
    await talk.rest()
    await talk.root.undo({ all: true })
    await expect(talk.root.undo({ all: true })).rejects.toThrow('its conversation is empty')
    await talk.root.redo()
    expect(await talk.ask('four')).toContain('answer to three')
    expect(await findings(talk)).toEqual([])
  })
})

describe('a conversation whose last turn is taken back', () => {
  test('a conversation whose last turn is taken back goes on as if the turn had never been, byte by byte, and its history keeps the turn', async () => {
    const talk = await conversation()
    await using _ = talk.troupe
    await talk.ask('two')
    await talk.rest()
    await talk.root.undo()
    const sent = await talk.ask('another two')
    const other = await conversation()
    await using _other = other.troupe
    expect(sent).toBe(await other.ask('another two'))
    const said = (await talk.troupe.history(talk.root.id)).map(({ type }) => type)
    expect(said).toEqual([
      'user',
      'assistant',
      'completed',
      'user',
      'assistant',
      'completed',
      'undone',
      'user',
      'assistant',
      'completed',
    ])
    expect(JSON.stringify((await talk.root.context()).history.messages)).not.toContain('"two"')
    expect(await findings(talk)).toEqual([])
  })

  test('a conversation gets the turn back after redo, and loses turn after turn with each further undo', async () => {
    const talk = await conversation()
    await using _ = talk.troupe
    await talk.ask('two')
    await talk.rest()
    const whole = JSON.stringify((await talk.root.context()).history.prompt())
    await talk.root.undo()
    await talk.root.undo()
    expect((await talk.root.context().catch(() => null))?.history.length ?? 0).toBe(0)
    await expect(talk.root.undo()).rejects.toThrow('has had no turn of its own')
    await talk.root.redo()
    await talk.root.redo()
    expect(JSON.stringify((await talk.root.context()).history.prompt())).toBe(whole)
    await expect(talk.root.redo()).rejects.toThrow('nothing can be done again')
    const sent = await talk.ask('three')
    expect(sent).toContain('answer to two')
    expect(await findings(talk)).toEqual([])
  })

  test('a conversation whose last turn is taken back cannot have it again after a new message', async () => {
    const talk = await conversation()
    await using _ = talk.troupe
    await talk.root.undo()
    await talk.ask('two')
    await talk.rest()
    await expect(talk.root.redo()).rejects.toThrow('something was said since')
  })
})

describe('a message that is pushed', () => {
  test('a message that is pushed is stored without an input and without a run, and is in the next prompt [1.13]', async () => {
    const talk = await conversation()
    await using _ = talk.troupe
    await talk.rest()
    const before = talk.model.requests.length
    const position = await talk.root.push(chat.assistant('I was told to say this.'))
    expect(position).toBe(3)
    await talk.root.push(chat.user('Remember seven.'))
    expect(talk.model.requests.length).toBe(before)
    expect((await talk.root.report()).status).toBe('idle')
    const sent = await talk.ask('two')
    expect(sent).toMatch(/I was told to say this\..*Remember seven\..*two/)
    expect(await findings(talk)).toEqual([])
  })

  test.each([
    [chat.tool('c1', 'x'), 'push takes a message of a user'],
    [{ role: 'user', content: 'x' }, 'It looks like a message of'],
    [chat.assistant([{ type: 'tool-call', toolCallId: 'c', toolName: 't', input: {} }]), 'a reply without calls'],
  ])('a message that is pushed is refused if it cannot stand alone: %j', async (message, why) => {
    const troupe = await TestTroupe.connect()
    await using _ = troupe
    await expect(
      troupe.client.workers.get('01999999-0000-7000-8000-000000000000').push(message as never),
    ).rejects.toThrow(why)
  })
})

describe('a summary that is taken back', () => {
  test('a summary that is taken back leaves the prompt as it would be without it, byte by byte', async () => {
    const talk = await conversation([10, 10, 860, 10, 10])
    await using _ = talk.troupe
    await talk.ask('two')
    await talk.ask('three')
    const compacted = await talk.ask('four')
    expect(compacted).toContain('They counted.')
    await talk.rest()
    await talk.root.expand()
    const sent = await talk.ask('five')
    const other = await conversation()
    await using _other = other.troupe
    for (const text of ['two', 'three', 'four']) await other.ask(text)
    expect(sent).toBe(await other.ask('five'))
    await talk.rest()
    await expect(talk.root.expand()).rejects.toThrow('no summary stands for a part of its conversation')
    expect(await findings(talk)).toEqual([])
  })
})

test('a worker that is at work, a handler, and an ended session are not changed, and the error says why', async () => {
  const release = Promise.withResolvers<void>()
  const model = recordedModel('test/m', () => say('done'))
  const waiting = {
    ...model,
    reply: (...call: Parameters<typeof model.reply>) => release.promise.then(() => model.reply(...call)),
  }
  const agent = defineWorker({ instructions: 'x', model: waiting })
  const handler = defineWorker({ receive: (_message, self) => self.reply('done') })
  await using troupe = await TestTroupe.start({ workers: { agent, handler } })
  const session = await troupe.create('agent', 'one')
  await expect.poll(async () => (await session.root.report()).status).toBe('running')
  await expect(session.root.push(chat.user('x'))).rejects.toThrow(`worker ${session.root.id} is at work`)
  release.resolve()
  await session.result()
  await expect(session.root.undo()).rejects.toThrow(/session .* finished|has finished|is completed/)
  const other = await troupe.create('handler', 'one', { keepOpen: true })
  await other.result({ run: 1 })
  await expect(other.root.push(chat.user('x'))).rejects.toThrow('is no agent')
})
