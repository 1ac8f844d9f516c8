/** Entries and mails of a forked session: ids that troupe wrote are those of the copy, and values of users are the same text. */
import { expect, test } from 'vitest'
import { forkedEntry, forkedMail } from '../../../src/core/fork/forked-entry.ts'
import { ForkedIds } from '../../../src/core/fork/forked-ids.ts'
import { childId, forkedAskId, newId, rootIdOf } from '../../../src/core/ids.ts'

const [from, copy] = [newId(0), newId(0)]
const root = rootIdOf(from)
const child = childId(root, 2, 1)
const free = childId(root, 3, 2)
const ids = new ForkedIds(from, copy)
ids.add({ id: child, parentId: root, parentRun: 2, call: 1, parentRuns: 3 })
ids.add({ id: free, parentId: root, parentRun: null, call: 2, parentRuns: 3 })
const [newRoot, newChild, newFree] = [rootIdOf(copy), childId(rootIdOf(copy), 2, 1), childId(rootIdOf(copy), 3, 2)]
const ask = childId(root, 9, 9)
const newAsk = forkedAskId(newRoot, ask)
const timer = newId(0)
/** A value of a user, with every id in it. */
const value = { text: `see ${child}`, from: child, id: ask, sent: [root], spawned: [{ id: free }] }

test('ids of children follow from their parents, also of those that are detached (FORKED-IDS-1)', () => {
  expect(ids.all).toEqual([
    [root, newRoot],
    [child, newChild],
    [free, newFree],
  ])
  // Its record does not say in which run of its parent it was made.
  const early = childId(root, 1, 5)
  expect(ids.add({ id: early, parentId: root, parentRun: null, call: 5, parentRuns: 3 })).toBe(true)
  expect(ids.worker(early)).toBe(childId(newRoot, 1, 5))
  expect(ids.add({ id: newId(0), parentId: root, parentRun: 2, call: 3, parentRuns: 3 })).toBe(false)
  expect(ids.add({ id: child, parentId: newId(0), parentRun: 2, call: 1, parentRuns: 3 })).toBe(false)
})

test.each([
  [`i\t-\t${JSON.stringify(value)}`, `i\t-\t${JSON.stringify(value)}`],
  [`i\t${child}\t${JSON.stringify(value)}`, `i\t${newChild}\t${JSON.stringify(value)}`],
  [`i\t${child}\t"a\\tb"`, `i\t${newChild}\t"a\\tb"`],
  [`g\t${root}\t{"value":1}`, `g\t${newRoot}\t{"value":1}`],
  [
    `p\t${child}\ttools a\nsend ${root} ${child}\t{"value":1}`,
    `p\t${newChild}\ttools a\nsend ${newRoot} ${newChild}\t{"value":1}`,
  ],
  [`r\t${free}\t2\tcompleted\t{"value":"${child}"}`, `r\t${newFree}\t2\tcompleted\t{"value":"${child}"}`],
  [`t\t${timer}\t"${child}"`, `t\t${timer}\t"${child}"`],
  [`o\t${ask}\t{"value":"${ask}"}`, `o\t${newAsk}\t{"value":"${ask}"}`],
  [
    `b\t${ask}\t${JSON.stringify({ kind: 'answer', id: ask, from: null, value })}`,
    `b\t${newAsk}\t${JSON.stringify({ kind: 'answer', id: newAsk, from: null, value })}`,
  ],
  [
    `b\tinbox-1\t${JSON.stringify({ kind: 'input', id: 'inbox-1', from: child, value })}`,
    `b\tinbox-1\t${JSON.stringify({ kind: 'input', id: 'inbox-1', from: newChild, value })}`,
  ],
  [
    `b\t${child}:1\t${JSON.stringify({ kind: 'result', id: `${child}:1`, from: child, value })}`,
    `b\t${newChild}:1\t${JSON.stringify({ kind: 'result', id: `${newChild}:1`, from: newChild, value })}`,
  ],
  ['', ''],
  ['what another program wrote', 'what another program wrote'],
])('mail %j', (text, wanted) => {
  expect(forkedMail(text, root, ids)).toBe(wanted)
})

test.each([
  [
    {
      type: 'received',
      message: { kind: 'input', id: 'inbox-0', from: child, value },
      spawned: [{ call: 1, id: free }],
      sent: [root],
      asks: [{ id: ask }],
    },
    {
      type: 'received',
      message: { kind: 'input', id: 'inbox-0', from: newChild, value },
      spawned: [{ call: 1, id: newFree }],
      sent: [newRoot],
      asks: [{ id: newAsk }],
    },
  ],
  [
    { type: 'received', message: { kind: 'timer', id: timer, from: null, value } },
    { type: 'received', message: { kind: 'timer', id: timer, from: null, value } },
  ],
  [
    { type: 'delegated', toolCallId: 'c', spawned: [{ id: child, kind: 'a' }] },
    { type: 'delegated', toolCallId: 'c', spawned: [{ id: newChild, kind: 'a' }] },
  ],
  [
    { type: 'asked', toolCallId: 'c', asks: [{ id: ask, question: ask }] },
    { type: 'asked', toolCallId: 'c', asks: [{ id: newAsk, question: ask }] },
  ],
  [
    { type: 'askWithdrawn', toolCallId: 'c', ask },
    { type: 'askWithdrawn', toolCallId: 'c', ask: newAsk },
  ],
  [
    { type: 'hooked', hook: 'prompt', did: 'suspend', ask },
    { type: 'hooked', hook: 'prompt', did: 'suspend', ask: newAsk },
  ],
  [
    { type: 'retried', messageId: ask },
    { type: 'retried', messageId: newAsk },
  ],
  [
    {
      type: 'cancelled',
      dropped: { id: 'inbox-0', mail: `i\t${child}\t1` },
      onCancel: { reason: child, sent: [child] },
    },
    {
      type: 'cancelled',
      dropped: { id: 'inbox-0', mail: `i\t${newChild}\t1` },
      onCancel: { reason: child, sent: [newChild] },
    },
  ],
  [
    { type: 'user', id: 'm1', from: root, ended: [free], content: `see ${child}` },
    { type: 'user', id: 'm1', from: newRoot, ended: [newFree], content: `see ${child}` },
  ],
  [
    { type: 'toolResult', sent: [child], output: { type: 'json', value } },
    { type: 'toolResult', sent: [newChild], output: { type: 'json', value } },
  ],
  [
    { type: 'step', name: 'x', value },
    { type: 'step', name: 'x', value },
  ],
])('entry %j', (entry, wanted) => {
  expect(forkedEntry(JSON.stringify(entry), root, ids)).toBe(JSON.stringify(wanted))
})

test('an entry that cannot be read, or without an id of the session, is the same text (FORKED-ENTRY-2)', () => {
  for (const text of [
    '',
    '{',
    `{"type": "step",  "value": "${newId(0)}" }`,
    `[ "${child}" ]`,
    `{ "type":"completed", "value":"${child}" }`,
  ])
    expect(forkedEntry(text, root, ids)).toBe(text)
})
