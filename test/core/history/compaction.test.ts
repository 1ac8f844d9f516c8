/** A summary in place of the beginning of a prompt: the rest is as it was, nothing that is open is lost, and it can be taken back. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { PromptMessage } from '../../../src/core/definition/model.ts'
import { chat } from '../../../src/core/history/chat/message-factories.ts'
import { ContextContainer } from '../../../src/core/history/context-container.ts'
import type { Entry } from '../../../src/core/history/entry.ts'
import { ConversationHistory } from '../../../src/core/history/history.ts'
import { apply, type Happening, happenings } from '../support/any-conversation.ts'

/** The messages get ids that no other message has, as in a history of troupe. */
const numbered = happenings.map((list) =>
  list.map((one): Happening => (one.type === 'push' ? { ...one, message: { ...one.message, id: '' } } : one)),
)
/** When somebody tries to compact, how much must stay, and how much must stand before it. */
const tries = fc.array(fc.record({ at: fc.nat(29), keep: fc.nat(4), least: fc.integer({ min: 1, max: 4 }) }), {
  maxLength: 4,
})

function lived(list: readonly Happening[], compactions: readonly { at: number; keep: number; least: number }[]) {
  const [whole, compacted] = [new ConversationHistory(), new ConversationHistory()]
  let count = 0
  list.forEach((happening, index) => {
    apply(whole, happening)
    apply(compacted, happening)
    for (const { at, keep, least } of compactions) {
      if (at !== index) continue
      const boundary = compacted.boundary(keep, least)
      if (boundary === null) continue
      const [open, before] = [compacted.openCalls(), compacted.prompt()]
      expect(compacted.compact(boundary.firstKept, [`summary ${++count}`])).toBe(true)
      expect(compacted.openCalls()).toEqual(open)
      expect(before.slice(0, boundary.before.length)).toEqual(boundary.before)
      expect(compacted.prompt().length).toBeGreaterThanOrEqual(keep)
    }
  })
  return { whole, compacted, count }
}

const mayFollow = { beginning: 'user', user: 'assistant', assistant: 'user tool', tool: 'user assistant' }

function isValid(parts: readonly PromptMessage[]): void {
  parts.forEach((part, index) => {
    expect(mayFollow[parts[index - 1]?.role ?? 'beginning'].split(' ')).toContain(part.role)
    if (part.role !== 'assistant') return
    const calls = part.content.flatMap((block) => (block.type === 'tool-call' ? [block.toolCallId] : []))
    const next = parts[index + 1]
    expect(next?.role === 'tool' ? next.results.map(({ toolCallId }) => toolCallId) : []).toEqual(calls)
  })
}

describe('a prompt that begins with a summary', () => {
  test('a prompt that begins with a summary is valid for providers, and has the end of the prompt without the summary (PROMPT-6) [1.36]', () => {
    fc.assert(
      fc.property(numbered, tries, (list, compactions) => {
        const { whole, compacted, count } = lived(list, compactions)
        const parts = compacted.prompt()
        isValid(parts)
        expect(compacted.openCalls()).toEqual(whole.openCalls())
        const [first] = parts
        expect(count === 0 || (first?.role === 'user' && JSON.stringify(first).includes(`summary ${count}`))).toBe(true)
        const rest = count === 0 ? parts : parts.slice(1)
        expect(rest).toEqual(rest.length === 0 ? [] : whole.prompt().slice(-rest.length))
        expect(count > 0 || rest.length === whole.prompt().length).toBe(true)
      }),
      { numRuns: 1_000 },
    )
  })

  test('a prompt is byte by byte as before once all its summaries are taken back (PROMPT-6) [1.56]', () => {
    fc.assert(
      fc.property(numbered, tries, (list, compactions) => {
        const { whole, compacted, count } = lived(list, compactions)
        for (let taken = 0; taken < count; taken++) expect(compacted.expand()).toBe(true)
        expect(compacted.expand()).toBe(false)
        expect(JSON.stringify(compacted.prompt())).toBe(JSON.stringify(whole.prompt()))
      }),
    )
  })

  test('a prompt that begins with a summary is the same for a clone, which neither gives nor gets later summaries', () => {
    const history = ConversationHistory.from(
      ['a', 'b', 'c', 'd'].flatMap((text) => [chat.user(text), chat.assistant(text)]),
    )
    expect(history.compact('2', ['first'])).toBe(true)
    const copy = history.clone()
    expect(copy.prompt()).toEqual(history.prompt())
    copy.compact('6', ['second'])
    expect(JSON.stringify(history.prompt())).not.toContain('second')
  })

  test('a prompt cannot be cut at a message that is not there, or that the last summary stands for', () => {
    const history = ConversationHistory.from(['a', 'b', 'c'].flatMap((text) => [chat.user(text), chat.assistant(text)]))
    const before = history.prompt()
    for (const id of ['', '0', 'no such']) expect(history.compact(id, ['x'])).toBe(false)
    expect(history.prompt()).toEqual(before)
    expect(history.compact('4', ['x'])).toBe(true)
    expect(history.compact('2', ['y'])).toBe(false)
  })
})

test('a compacted conversation has all system messages and one summary that says how many messages it stands for [4.6]', () => {
  const system = [chat.system('Be short.'), chat.system('Speak French.')]
  const history = ConversationHistory.from([
    system[0] as never,
    chat.user('a'),
    chat.assistant('b'),
    system[1] as never,
    chat.user('c'),
    chat.assistant('d'),
  ])
  const short = history.withCompactedSummary('They said letters.')
  expect(short.messages.map(({ type }) => type)).toEqual(['system', 'system', 'summary'])
  expect(short.last).toMatchObject({ text: 'They said letters.', messagesCompacted: 4 })
  // A summary counts as one message.
  short.push(chat.user('e'))
  expect(short.withCompactedSummary('All.').last).toMatchObject({ messagesCompacted: 2 })
  const kept = history.withCompactedSummary('They said letters.', { keepLast: 3 })
  expect(kept.messages.slice(2).map(({ type }) => type)).toEqual(['summary', 'user', 'assistant'])
  expect(ConversationHistory.from(system).withCompactedSummary('Nothing.').messages).toHaveLength(2)
  expect(history.length).toBe(6)
})

describe('an entry of a summary', () => {
  const entry = (more: object) => ({ v: 1, at: 1, run: 1, epoch: 1, ...more }) as unknown as Entry
  const usage = { inputTokens: 100, outputTokens: 20 }
  const said = (id: string, text: string) =>
    id.startsWith('u')
      ? entry({ type: 'user', id, content: [{ type: 'text', text }] })
      : entry({ ...chat.assistant(text, { id }), usage })
  const compacted = entry({
    type: 'compacted',
    text: 'All was said.',
    owed: 'Owed: x.',
    firstKept: 'u2',
    model: 'm',
    usage,
  })
  const containerOf = (...entries: Entry[]) => {
    const container = new ContextContainer({
      sessionId: '',
      workerId: '',
      name: '',
      kind: '',
      parentId: null,
      depth: 0,
    })
    for (const one of entries) container.apply(one)
    return container
  }
  const before = [said('u1', 'a'), said('a1', 'b'), said('u2', 'c')]

  test('a summary and the open calls take the position of the earlier messages, and the size starts anew [4.9]', () => {
    const container = containerOf(...before, compacted)
    expect(container.history.prompt()).toEqual([
      {
        role: 'user',
        content: ['[Previous conversation handoff]\nAll was said.', 'Owed: x.', 'c'].map((text) => ({
          type: 'text',
          text,
        })),
      },
    ])
    expect(container.size.tokens).toBe(Math.floor((45 + 8 + 1) / 4))
    expect(container.run.tokens).toBe(240)
    container.apply(entry({ type: 'expanded' }))
    expect(container.history.prompt()).toEqual(containerOf(...before).history.prompt())
  })

  test('a summary that names no message of this history is passed over', () => {
    const container = containerOf(...before, entry({ ...compacted, firstKept: 'u9' }))
    expect(container.passedOver).toBe(1)
    expect(container.history.prompt()).toHaveLength(3)
  })

  test('a summary and a clearing of results are taken back in turn, and the prompt has the same objects as before', () => {
    const read = (number: number) => [
      said(`u${number}`, `read ${number}`),
      entry({
        ...chat.assistant([{ type: 'tool-call', toolCallId: `c${number}`, toolName: 'read', input: {} }], {
          id: `a${number}`,
        }),
        usage,
      }),
      entry({ ...chat.tool(`c${number}`, 'x'.repeat(1_000), { toolName: 'read' }), id: `r${number}` }),
    ]
    const container = containerOf(...[1, 2, 3, 4].flatMap(read))
    const texts = () => JSON.stringify(container.history.prompt())
    const steps: string[] = [texts()]
    const parts = container.history.prompt()
    const more = ['u2', 'u3', 'u4'].map((firstKept, index) =>
      index === 1 ? entry({ ...compacted, firstKept }) : entry({ type: 'cleared', firstKept, results: 1 }),
    )
    for (const one of more) {
      container.apply(one)
      steps.push(texts())
      expect(container.history.prompt()).toEqual(container.history.clone().prompt())
    }
    expect(steps[1]).toContain('this result of read was cleared to make room: it had 1000 bytes')
    expect(new Set(steps).size).toBe(4)
    for (let at = 3; at > 0; at--) {
      expect(texts()).toBe(steps[at])
      container.apply(entry({ type: 'expanded' }))
    }
    expect(texts()).toBe(steps[0])
    const back = container.history.prompt()
    expect(back.slice(0, 9).every((part, index) => part === parts[index])).toBe(true)
    expect(container.isCompacted).toBe(false)
  })

  test('results that are cleared already are not cleared again, nor less of them', () => {
    const history = ConversationHistory.from([
      chat.user('a', { id: 'u1' }),
      chat.assistant('b', { id: 'a1' }),
      chat.user('c', { id: 'u2' }),
      chat.assistant('d', { id: 'a2' }),
    ])
    expect(['none', '', 'u2', 'u2', 'a1', 'a2'].map((id) => history.clearResults(id))).toEqual([
      false,
      false,
      true,
      false,
      false,
      true,
    ])
  })

  test('the size is the number that the provider counted, and an estimate of what came since', () => {
    const container = containerOf(...before)
    expect(container.size.tokens).toBe(120)
    container.apply(said('u3', 'x'.repeat(40)))
    expect(container.size.tokens).toBe(130)
  })
})
