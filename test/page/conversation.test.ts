/** How a history becomes what a reader follows: calls in the replies that made them, and nothing left out. */
import { expect, test } from 'vitest'
import type { HistoryItem } from '../../src/client/worker.ts'
import { readSessionFile } from '../../src/page/api/session-file.ts'
import { tokensOf } from '../../src/page/parts/text/markdown-tokens.ts'
import { conversationOf } from '../../src/page/screens/session/conversation/conversation.ts'
import { type TreeWorker, treeRows } from '../../src/page/screens/session/tree/tree-rows.ts'
import { sessionFileOf } from './support/session-file.ts'

const usage = { inputTokens: 1, outputTokens: 1 }
const head = { v: 1, at: 5, run: 1, epoch: 1 }
const entries: readonly object[] = [
  { ...head, type: 'user', id: 'u', content: [{ type: 'text', text: 'go' }] },
  {
    ...head,
    type: 'assistant',
    id: 'a',
    model: 'm',
    finishReason: 'tool-calls',
    usage,
    content: [
      { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: {} },
      { type: 'tool-call', toolCallId: 'c2', toolName: 'spawn_workers', input: {} },
    ],
  },
  { ...head, type: 'asked', toolCallId: 'c1', asks: [{ id: 'ask', sort: 'approval', question: 'May it?' }] },
  { ...head, type: 'delegated', toolCallId: 'c2', spawned: [{ call: 1, id: 'w', kind: 'k', name: 'n' }] },
  { ...head, type: 'toolStarted', toolCallId: 'c1', toolName: 'look' },
  {
    ...head,
    type: 'toolResult',
    id: 'r',
    toolCallId: 'c1',
    toolName: 'look',
    status: 'ok',
    output: { type: 'text', value: 'seen' },
  },
  { ...head, type: 'undone', from: 1 },
  { ...head, type: 'somethingNew', text: 'of a newer version' },
]
const items = entries.map((entry, position) => ({ position, entry })) as unknown as readonly HistoryItem[]

test('a call is shown in its reply with everything that became of it', () => {
  const reply = conversationOf(items).find(({ type }) => type === 'reply')
  expect(reply).toMatchObject({
    calls: [
      { id: 'c1', asks: [{ id: 'ask' }], startedAt: 5, result: { status: 'ok' } },
      { id: 'c2', spawned: [{ id: 'w' }], result: null },
    ],
  })
})

test('the outcome of a call whose reply was not read stands by itself', () => {
  expect(conversationOf(items.slice(5, 6))).toMatchObject([
    { type: 'call', call: { id: 'c1', block: null, toolName: 'look' } },
  ])
})

test('a part that was taken back is marked until it counts again', () => {
  const marks = (list: readonly HistoryItem[]) => conversationOf(list).map(({ isUndone }) => isUndone)
  expect(marks(items)).toEqual([false, true, false, false])
  const redone = { position: 8, entry: { ...head, type: 'redone' } } as HistoryItem
  expect(marks([...items, redone])).toEqual([false, false, false, false, false])
})

test('an entry of an unknown type is shown as it is', () => {
  expect(conversationOf(items).at(-1)).toMatchObject({
    type: 'note',
    text: expect.stringContaining('of a newer version'),
  })
})

test('the result of an agent is not shown a second time below the reply that says it, and never as escaped JSON', () => {
  const reply = { ...head, type: 'assistant', id: 'a', model: 'm', finishReason: 'stop', usage }
  const noteOf = (said: string, value: object) => {
    const entries = [
      { ...reply, content: [{ type: 'text', text: said }] },
      { ...head, type: 'completed', value },
    ]
    return conversationOf(entries.map((entry, position) => ({ position, entry }) as unknown as HistoryItem)).at(-1)
  }
  expect(noteOf('one\ntwo', { text: 'one\ntwo' })).toMatchObject({ text: 'completed', detail: undefined })
  const withFacts = { text: 'one\ntwo', facts: { pages: 2 } }
  expect(noteOf('one\ntwo', withFacts)).toMatchObject({ text: 'completed: {"facts":{"pages":2}}' })
  expect(noteOf('one', { text: 'one\ntwo' })).toMatchObject({ text: 'completed: one\ntwo', detail: 'one\ntwo' })
  const ofHandler = { text: 'one', pages: 2 }
  expect(noteOf('one', ofHandler)).toMatchObject({ text: 'completed: {"text":"one","pages":2}', detail: ofHandler })
})

const worker = (id: string, parentId: string | null, needs = false) =>
  ({ id, parentId, holdup: needs ? { needsSomebody: true, reason: 'approval' } : null }) as unknown as TreeWorker

test('a parent shows what its child said as a text, and what else was in its result', () => {
  const noteOf = (value: unknown, failure: object | null = null) => {
    const status = failure === null ? 'completed' : 'failed'
    const message = { kind: 'result', id: 'm', from: 'w', name: 'docs', status, value, failure }
    const [item] = conversationOf([{ position: 3, entry: { ...head, type: 'received', message } as never }])
    return item
  }
  expect(noteOf({ text: 'one\n"two"' })).toMatchObject({
    text: 'received result of docs (completed): one\n"two"',
    detail: 'one\n"two"',
  })
  expect(noteOf({ text: 'one', facts: { pages: 2 } })).toMatchObject({
    text: 'received result of docs (completed): one: {"facts":{"pages":2}}',
  })
  const ofHandler = { pages: 2 }
  expect(noteOf(ofHandler)).toMatchObject({ text: 'received result of docs (completed): {"pages":2}' })
  const failure = { code: 'run_failed', message: 'no', origin: 'handler', attempt: 1 }
  expect(noteOf(null, failure)).toMatchObject({ text: 'received result of docs (failed): run_failed (handler): no' })
})

test('every worker has a row, even one without its parent, and parents count the workers that wait below them', () => {
  const workers = [
    worker('root', null),
    worker('a', 'root'),
    worker('b', 'a', true),
    worker('lost', 'gone'),
    worker('self', 'self'),
  ]
  const rows = treeRows(workers, () => true)
  expect(rows.map(({ worker: { id }, level }) => `${level} ${id}`)).toEqual([
    '0 root',
    '1 a',
    '2 b',
    '0 lost',
    '0 self',
  ])
  expect(rows.map(({ needsBelow }) => needsBelow)).toEqual([1, 1, 0, 0, 0])
  expect(treeRows(workers, (id) => id === 'root').map(({ worker: { id } }) => id)).toEqual([
    'root',
    'a',
    'lost',
    'self',
  ])
})

test('a file that is no exported session is refused with a sentence, and lines that cannot be read are counted', () => {
  expect(() => readSessionFile('a.txt', '{"hello":1}\nnope')).toThrow(/a\.txt is no exported session/)
  expect(readSessionFile('b', `${sessionFileOf(3)}\n{nope`)).toMatchObject({
    unreadable: 1,
    report: { workers: [{}, {}, {}] },
  })
})

test('a conversation that is taken back as a whole shows what the system said as what counts', () => {
  const said = [
    { ...head, type: 'user', id: 'm0', content: [{ type: 'text', text: 'hi' }] },
    { ...head, type: 'system', id: 'm1', text: 'Be brief.' },
    { ...head, type: 'undone', from: 0, all: true },
  ]
  const shown = conversationOf(said.map((entry, position) => ({ position, entry })) as unknown as HistoryItem[])
  expect(shown.map(({ isUndone }) => isUndone)).toEqual([true, false, false])
})

test('Markdown that is nested without end is shown as it is', () => {
  expect(tokensOf('> quoted')?.map(({ type }) => type)).toEqual(['blockquote'])
  for (const text of ['> '.repeat(100), '> '.repeat(20_000), `${'- '.repeat(3_000)}x`])
    expect(tokensOf(text)).toBe(null)
})

test('a text with thousands of marks of emphasis is shown as it is: its parser would hold the page for minutes', () => {
  expect(tokensOf('**a_'.repeat(15_000))).toBe(null)
  expect(tokensOf('**a** and _b_. '.repeat(400))?.map(({ type }) => type)).toEqual(['paragraph'])
})
