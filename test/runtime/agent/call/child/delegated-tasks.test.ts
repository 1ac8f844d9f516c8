/** The tasks that a model may give to children, what the children get, and how their results look to the model. */
import { describe, expect, test } from 'vitest'
import type { SpawnNote } from '../../../../../src/core/history/entry.ts'
import { childId, newId } from '../../../../../src/core/ids.ts'
import { decodeMail, type ResultMessage } from '../../../../../src/core/worker/message/message.ts'
import { decodePermissions } from '../../../../../src/core/worker/permissions.ts'
import { childrenOutput, detachedOutput } from '../../../../../src/runtime/agent/call/child/children-output.ts'
import {
  delegate,
  delegationSpecs,
  parseSend,
  parseSpawn,
  recipientOf,
  type SpawnTask,
} from '../../../../../src/runtime/agent/call/child/delegation.ts'
import { within } from '../../../../support/time/within.ts'
import { assignmentByHand } from '../../../support/held-store.ts'

const note = (call: number, more: Partial<SpawnNote> = {}): SpawnNote => ({
  call,
  id: `id ${call}`,
  kind: 'reader',
  name: `reader-${call}`,
  ...more,
})
const result = (call: number, value: unknown, more: Partial<ResultMessage> = {}) =>
  ({
    kind: 'result',
    id: `m${call}`,
    from: `id ${call}`,
    name: `reader-${call}`,
    workerKind: 'reader',
    call,
    status: 'completed',
    value,
    failure: null,
    ...more,
  }) as ResultMessage

/** The result that the model sees of one child with this reply. */
function toldOf(value: unknown, bytesMax = 100_000): unknown {
  const output = childrenOutput([note(1)], new Map([[1, result(1, value)]]), bytesMax)
  const { workerId, name, kind, status, ...said } = (output.value as Record<string, unknown>[])[0] ?? {}
  expect({ workerId, name, kind, status }).toEqual({
    workerId: 'id 1',
    name: 'reader-1',
    kind: 'reader',
    status: 'completed',
  })
  return said
}
const long = `${'long '.repeat(300)}end`

describe('the results of children', () => {
  test('the results of children come in the order of the tasks, with the status of each (CHILDREN-OUTPUT-1) [4.19]', () => {
    const at = Date.now()
    const failure = { code: 'run_failed', message: 'no', origin: 'handler', at, attempt: 1, retryable: false } as const
    const notes = [note(2), note(1), note(3, { detached: true }), note(4)]
    const results = [result(1, 'one'), result(2, null, { status: 'failed', failure })]
    expect(childrenOutput(notes, new Map(results.map((one) => [one.call, one])), 9_000)).toEqual({
      type: 'json',
      value: [
        {
          workerId: 'id 2',
          name: 'reader-2',
          kind: 'reader',
          status: 'failed',
          failure: { code: 'run_failed', message: 'no' },
        },
        { workerId: 'id 1', name: 'reader-1', kind: 'reader', status: 'completed', summary: 'one', details: 'one' },
        { workerId: 'id 3', name: 'reader-3', kind: 'reader', status: 'started' },
        { workerId: 'id 4', name: 'reader-4', kind: 'reader', status: 'unknown' },
      ],
    })
  })

  test.each([
    ['a text', 'first\nsecond', { summary: 'first', details: 'first\nsecond' }],
    ['a value', { a: [1] }, { summary: '{"a":[1]}', details: { a: [1] } }],
    ['a value of the known form', { summary: 's\n', details: { a: 1 } }, { summary: 's\n', details: { a: 1 } }],
    [
      'one with more than that',
      { summary: 's', n: 5 },
      { summary: '{"summary":"s","n":5}', details: { summary: 's', n: 5 } },
    ],
    ['a value with a text', { text: 't', n: 5 }, { summary: '{"text":"t","n":5}', details: { text: 't', n: 5 } }],
    ['an answer with facts', { text: 't', facts: { n: 5 } }, { summary: 't', details: 't' }],
    ['an answer', { text: '\n  \n  first  \nsecond' }, { summary: 'first', details: '\n  \n  first  \nsecond' }],
    ['JSON of the known form', { text: '{"summary":"s","artifacts":[1],"other":2}' }, { summary: 's', artifacts: [1] }],
    ['such JSON in a fence', { text: '```json\n{"details":"d"}\n```' }, { summary: '', details: 'd' }],
    ['such JSON in a bare fence', { text: ' ```\n{"summary":5,"nextSteps":[]}\n``` ' }, { summary: '', nextSteps: [] }],
    [
      'such JSON in a fence on one line',
      { text: '```{"summary":"s"}```' },
      { summary: '```{"summary":"s"}```', details: '```{"summary":"s"}```' },
    ],
    ['JSON of another form', { text: '{"a":1}' }, { summary: '{"a":1}', details: '{"a":1}' }],
    ['a list as JSON', { text: '["summary"]' }, { summary: '["summary"]', details: '["summary"]' }],
    ['null as JSON', { text: 'null' }, { summary: 'null', details: 'null' }],
    ['nothing', { text: '' }, { summary: '', details: '' }],
  ])('the results of children are shown as a summary and the rest: %s', (_, value, said) => {
    expect(toldOf(value)).toEqual(said)
  })

  test('the results of children are cut to an equal share for each child, which is at least a thousand characters', () => {
    const cut = `${long.slice(0, 1_000)} … (1503 characters in all)`
    const summary = `${long.slice(0, 200)} … (1502 characters in all)`
    expect(long).toHaveLength(1_503)
    expect(toldOf(long, 1)).toEqual({ summary: expect.stringMatching(/ … \(1503 characters in all\)$/), details: cut })
    expect(toldOf({ text: long }, 1)).toMatchObject({ details: cut })
    expect(toldOf([long], 1)).toMatchObject({ details: expect.stringMatching(/^\["long .* … \(1507 characters/) })
    expect(toldOf(`${long.slice(0, 1_502)}\nx`, 5_000)).toMatchObject({ summary })
    expect(toldOf(long, 1_503)).toMatchObject({ details: long })
    const notes = [note(1), note(2)]
    const results = new Map([1, 2].map((call) => [call, result(call, long)]))
    expect(childrenOutput(notes, results, 3_006).value).toMatchObject([{ details: long }, { details: long }])
    expect(childrenOutput(notes, results, 3_004).value).toMatchObject([
      { details: expect.stringContaining(' … ') },
      { details: expect.stringContaining(' … ') },
    ])
  })

  test('results of children that are too long in the known form are shown as the summary and the text', () => {
    const text = JSON.stringify({ summary: 'in short\nmore', details: long })
    expect(toldOf({ text }, 1_000)).toEqual({
      summary: 'in short',
      details: expect.stringMatching(/^\{"summary":"in short\\nmore","details":"long .* characters in all\)$/),
    })
    expect(toldOf({ text: JSON.stringify({ details: long }) }, 1_000)).toMatchObject({ summary: '' })
    expect(toldOf({ summary: 'in short', details: long }, 1_000)).toMatchObject({
      details: expect.stringMatching(/^\{"summary":"in short","details":"long .* characters in all\)$/),
    })
  })

  test('results of children that are nested too deeply are shown as text', () => {
    const nested = (depth: number) => `{"details":${'['.repeat(depth - 1)}${']'.repeat(depth - 1)}}`
    for (const depth of [65, 20_000]) {
      const text = nested(depth)
      expect(toldOf({ text })).toEqual({ summary: expect.any(String), details: text })
    }
    expect(toldOf(JSON.parse(nested(65)))).toEqual({ summary: expect.any(String), details: nested(65) })
    expect(toldOf({ text: nested(64) })).toEqual({ summary: '', ...JSON.parse(nested(64)) })
    expect(toldOf(JSON.parse(nested(64)))).toEqual({ summary: '', ...JSON.parse(nested(64)) })
  })

  test.each([
    ['line breaks', `\`\`\`${'\n'.repeat(200_000)}x`],
    ['line breaks within a fence', `\`\`\`\n${'\n'.repeat(200_000)}\n\`\`\`x`],
    ['fences', '```\n'.repeat(50_000)],
  ])('the results of children take linear time, even if a model wrote endless %s', (_, text) => {
    expect(within(() => toldOf({ text }))).toMatchObject({ summary: expect.any(String) })
  })

  test('the results of children are never cut within a character', () => {
    const { details } = toldOf(`${'x'.repeat(999)}\u{1f600}`, 1_000) as { details: string }
    expect(details.isWellFormed()).toBe(true)
    expect(details).toContain('(1001 characters in all)')
  })

  test('results of detached children are not awaited', () => {
    expect(detachedOutput([note(1, { detached: true })])).toEqual({
      type: 'json',
      value: [{ workerId: 'id 1', name: 'reader-1', kind: 'reader', status: 'started' }],
    })
  })
})

describe('tasks', () => {
  const tasksOf = (...tasks: object[]) => parseSpawn({ tasks }, ['reader', 'writer'])

  test('tasks must name kinds that may be spawned: the error lists each other kind once, and the allowed kinds', () => {
    const good = { kind: 'reader', input: 1 }
    expect(tasksOf(good)).toEqual({ ok: true, value: [good] })
    const bad = ['x', 'writer', 'x', 'y'.repeat(99)].map((kind) => ({ kind, input: 1 }))
    const names = `'x', '${'y'.repeat(64)}'`
    expect(tasksOf(good, ...bad)).toEqual({
      ok: false,
      reasons: [`kind ${names} may not be spawned; available: reader, writer`],
    })
    expect(tasksOf()).toMatchObject({ ok: false })
    expect(tasksOf(...Array.from({ length: 200 }, () => good))).toMatchObject({ ok: true })
    expect(tasksOf(...Array.from({ length: 201 }, () => good))).toMatchObject({ ok: false })
    const facts = Array.from({ length: 300_000 }, () => 1)
    expect(tasksOf({ ...good, facts })).toMatchObject({ ok: false, reasons: [expect.any(String)] })
    const tools = Array.from({ length: 257 }, () => 'look_up')
    expect(tasksOf({ ...good, tools })).toMatchObject({ ok: false, reasons: [expect.stringContaining('256')] })
    expect(tasksOf({ ...good, from: 'me' })).toMatchObject({ ok: false, reasons: [expect.stringContaining('from')] })
  })

  const assignment = assignmentByHand({ permissions: { tools: ['a', 'b'] } })
  const orders = (tasks: readonly SpawnTask[], facts = {}) =>
    delegate(tasks, assignment, 3, 4, facts, null, (kind) => `pool of ${kind}`)

  test('tasks become children with ids, names, permissions and mail that troupe sets (DELEGATION-1)', () => {
    const made = orders([
      { kind: 'reader', input: { a: 1 }, tools: ['b', 'c'] },
      { kind: 'writer', input: 'x', name: 'own name', detached: true },
    ])
    const [first, second] = [childId(assignment.workerId, 3, 5), childId(assignment.workerId, 3, 6)]
    expect(made.notes).toEqual([
      { call: 5, id: first, kind: 'reader', name: 'reader-5' },
      { call: 6, id: second, kind: 'writer', name: 'own name', detached: true },
    ])
    expect(made.orders).toMatchObject([
      { id: first, kind: 'reader', name: 'reader-5', pool: 'pool of reader', detached: false, call: 5 },
      { id: second, kind: 'writer', name: 'own name', pool: 'pool of writer', detached: true, call: 6 },
    ])
    expect(made.orders.map(({ mail }) => decodeMail('inbox', 0, mail).message)).toMatchObject([
      { kind: 'input', from: assignment.workerId, value: { a: 1 } },
      { kind: 'input', from: assignment.workerId, value: 'x' },
    ])
    expect(made.orders.map(({ permissions: given }) => decodePermissions(given ?? ''))).toEqual([
      { tools: ['b'] },
      { tools: ['a', 'b'] },
    ])
  })

  test('tasks together have the size limit of one step: the error says how many fit', () => {
    const facts = { big: 'ä'.repeat(400_000) }
    const give = (count: number) =>
      orders(
        Array.from({ length: count }, () => ({ kind: 'reader', input: 'x', facts: ['big'] })),
        facts,
      )
    expect(give(2).orders).toHaveLength(2)
    expect(() => give(3)).toThrow(expect.objectContaining({ code: 'step_too_big' }))
    expect(() => give(3)).toThrow(/only the first 2 tasks fit/)
  })

  test('tasks get the facts that they name and no others', () => {
    const facts = { one: 1, two: { deep: true } }
    const made = orders([{ kind: 'reader', input: 'x', facts: ['two'] }], facts)
    expect(made.notes).toMatchObject([{ facts: ['two'] }])
    expect(decodeMail('inbox', 0, made.orders[0]?.mail ?? '').message).toMatchObject({
      value: 'x',
      facts: { two: { deep: true } },
    })
    const asking = (...names: string[]) => [{ kind: 'reader', input: 'x', name: 'n', facts: names }]
    expect(() => orders(asking('one', 'no'), facts)).toThrow("no fact 'no' for n; known facts: one, two.")
    expect(() => orders(asking('no'))).toThrow("no fact 'no' for n; known facts: none.")
    expect(orders(asking()).orders[0]?.mail).toBe(orders([{ kind: 'reader', input: 'x' }]).orders[0]?.mail)
  })

  test('tasks are described to a model with the available kinds and their descriptions', () => {
    const [spawning, sending] = delegationSpecs(['reader', 'writer'], (kind) => (kind === 'reader' ? 'Reads.' : ''))
    expect(spawning?.description).toMatch(/Kinds:\n- reader: Reads\.\n- writer$/)
    expect(spawning?.inputSchema).toMatchObject({
      properties: { tasks: { minItems: 1, maxItems: 200, items: { additionalProperties: false } } },
      required: ['tasks'],
    })
    expect(sending).toMatchObject({ name: 'send_message', inputSchema: { required: ['to', 'text'] } })
  })
})

describe('a message', () => {
  test('has a text', () => {
    expect(parseSend({ to: 'parent', text: 'x' })).toEqual({ ok: true, value: { to: 'parent', text: 'x' } })
    expect(parseSend({ to: 'parent', text: '' })).toMatchObject({ ok: false, reasons: [expect.any(String)] })
  })

  test('a message goes to the parent, or to an id of any partition in any notation', () => {
    const parentId = newId(0)
    const assignment = assignmentByHand({ parentId })
    expect(recipientOf('parent', assignment)).toBe(parentId)
    expect(recipientOf(` ${parentId.toUpperCase()}\n`, assignment)).toBe(parentId)
    const elsewhere = newId(1)
    expect(recipientOf(elsewhere, assignment)).toBe(elsewhere)
    expect(() => recipientOf('x'.repeat(99), assignment)).toThrow(`'${'x'.repeat(64)}' is not the id of a worker`)
    expect(() => recipientOf('parent', assignmentByHand())).toThrow('has no parent')
  })
})
