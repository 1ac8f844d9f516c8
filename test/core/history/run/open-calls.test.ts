/** The open calls of a history, found from its end. */
import { describe, expect, test } from 'vitest'
import { ContextContainer } from '../../../../src/core/history/context-container.ts'
import { decodeEntry, type Entry } from '../../../../src/core/history/entry.ts'
import { lastEntries, lastResult, openCallsIn } from '../../../../src/core/history/run/open-calls.ts'
import { openCallsOf } from '../../../../src/runtime/agent/journal.ts'

const head = { v: 1, at: 1, run: 2, epoch: 3 }
const make = (entry: object) => ({ ...head, ...entry }) as unknown as Entry

const user = make({ type: 'user', id: 'm0', content: [{ type: 'text', text: 'go' }] })
const asked = (...ids: string[]) =>
  make({
    type: 'assistant',
    id: 'm1',
    model: 'test/m',
    content: [
      { type: 'text', text: 'I look.' },
      ...ids.map((id) => ({ type: 'tool-call', toolCallId: id, toolName: 'look', input: {} })),
    ],
    finishReason: 'tool-calls',
    usage: { inputTokens: 0, outputTokens: 0 },
  })
const answered = (toolCallId: string) =>
  make({
    type: 'toolResult',
    id: `r-${toolCallId}`,
    toolCallId,
    toolName: 'look',
    status: 'ok',
    output: { type: 'text', value: 'x' },
  })
const ids = (entries: readonly Entry[]) => openCallsIn(entries)?.calls.map(({ toolCallId }) => toolCallId)

describe('openCallsIn', () => {
  test('names the calls of the newest reply that have no result, in call order', () => {
    expect(ids([user, asked('a', 'b', 'c'), answered('b')])).toEqual(['a', 'c'])
    expect(ids([asked('a'), answered('a'), asked('b')])).toEqual(['b'])
    expect(ids([asked('a'), answered('a')])).toEqual([])
  })

  test('asks for older entries if the newest do not reach back to the reply', () => {
    expect(openCallsIn([answered('b'), answered('c')])).toBeNull()
    expect(openCallsIn([])).toBeNull()
  })

  test('a search for open calls does not look before the end of a run', () => {
    for (const type of ['completed', 'failed', 'cancelled']) {
      expect(ids([asked('a'), make({ type }), user])).toEqual([])
      expect(ids([make({ type })])).toEqual([])
    }
  })

  test('a call counts as started while a once step of it may have taken effect, as the context container has it', () => {
    const began = (id: string) => make({ type: 'subCallStarted', toolCallId: 'a', id, toolName: 'pay' })
    const ended = { status: 'ok', output: { type: 'text', value: 'x' }, once: true }
    const noEffect = (id: string) => make({ type: 'attemptFailed', toolCallIds: [`a/${id}`], retryMs: 1 })
    const cases: readonly (readonly [boolean, readonly Entry[]])[] = [
      [true, [began('s1')]],
      [false, [began('s1'), noEffect('s1')]],
      [true, [began('s1'), began('s2'), noEffect('s2')]],
      [
        true,
        [began('s1'), make({ type: 'subCall', toolCallId: 'a', id: 's1', ...ended }), began('s2'), noEffect('s2')],
      ],
    ]
    for (const [isStarted, entries] of cases) {
      const all = [asked('a'), ...entries]
      expect(openCallsIn(all)?.calls[0]?.isStarted ?? false).toBe(isStarted)
      const session = { sessionId: 's', workerId: 'w', name: 'n', kind: 'k', parentId: null, depth: 0 }
      const container = new ContextContainer(session)
      for (const entry of all) container.apply(entry)
      expect(openCallsOf(container)).toEqual(openCallsIn(all)?.calls)
    }
  })

  test('knows the calls that a retried run runs again, as the context container has them (OPEN-CALLS-4)', () => {
    const started = make({ type: 'toolStarted', toolCallId: 'a', toolName: 'look' })
    const failed = make({ type: 'failed', failure: { code: 'tool_failed' } })
    const retried = make({ type: 'retried', reopened: ['a'] })
    const step = make({ type: 'subCallStarted', toolCallId: 'a', id: 's1', toolName: 'pay' })
    const before = [asked('a', 'b'), started, step, answered('b'), answered('a'), failed, retried]
    for (const after of [[], [started], [step], [started, answered('a'), failed, retried], [answered('a')]]) {
      const all = [...before, ...after]
      const session = { sessionId: 's', workerId: 'w', name: 'n', kind: 'k', parentId: null, depth: 0 }
      const container = new ContextContainer(session)
      for (const entry of all) container.apply(entry)
      expect(openCallsIn(all)?.calls).toEqual(openCallsOf(container))
    }
    expect(openCallsIn([...before, started])?.calls).toMatchObject([{ toolCallId: 'a', isStarted: true }])
    expect(openCallsIn([failed, retried, started])).toBeNull()
  })

  test('passes over unknown and unreadable entries (OPEN-CALLS-2)', () => {
    const strange = ['{', 'null', '7', '{"type":"later"}', '{"type":"assistant","content":7}'].map(decodeEntry)
    expect(openCallsIn([asked('a'), ...strange])).toMatchObject({ calls: [{ toolCallId: 'a' }], run: 2, epoch: 3 })
    expect(openCallsIn(strange)).toBeNull()
  })

  test('reads a damaged run or epoch as 1, so that the answering entries are readable', () => {
    for (const odd of ['x', {}, null, -1.5]) {
      const found = openCallsIn([make({ ...asked('a'), run: odd, epoch: odd })])
      expect(found).toMatchObject({ run: 1, epoch: 1 })
      expect(lastEntries(found as NonNullable<typeof found>, 5).map(decodeEntry)).toMatchObject([{ toolCallId: 'a' }])
    }
  })

  test('knows which calls were started, and which then reported that nothing took effect', () => {
    const started = (toolCallId: string) => make({ type: 'toolStarted', toolCallId, toolName: 'look' })
    const failed = make({ type: 'attemptFailed', failure: { code: 'x' }, retryMs: 1, toolCallIds: ['b'] })
    const history = [asked('a', 'b', 'c', 'd'), started('a'), started('b'), started('d'), answered('d'), failed]
    const [a, b, c] = ['a', 'b', 'c'].map((toolCallId) => ({ toolCallId, toolName: 'look' }))
    expect(openCallsIn(history)?.calls).toEqual([{ ...a, isStarted: true }, b, c])
    expect(lastEntries(openCallsIn(history) ?? { calls: [], run: 0, epoch: 0 }, 9).map(decodeEntry)).toMatchObject([
      { toolCallId: 'a', status: 'unknown', output: { value: expect.stringContaining('is unknown') } },
      { toolCallId: 'b', status: 'cancelled' },
      { toolCallId: 'c', status: 'cancelled' },
    ])
  })

  test('returns the run of the reply and the newest epoch', () => {
    const started = make({ type: 'toolStarted', epoch: 7, toolCallId: 'a', toolName: 'look' })
    expect(openCallsIn([asked('a'), started])).toMatchObject({ run: 2, epoch: 7 })
    expect(openCallsIn([asked('a')])).toMatchObject({ run: 2, epoch: 3 })
  })
})

test('the result of a call is what its tool reported, or else unknown if it was started, and cancelled if not (OPEN-CALLS-3)', () => {
  const word = { status: 'ok', output: { type: 'text', value: 'done' }, facts: { a: 1 } } as const
  const call = { toolCallId: 'a', toolName: 'look' }
  expect(lastResult({ ...call, isStarted: true }, 'm1', word)).toEqual({ id: 'm1', ...call, ...word })
  expect(lastResult({ ...call, isStarted: true }, 'm1')).toMatchObject({ status: 'unknown' })
  expect(lastResult(call, 'm1', word)).toEqual({ id: 'm1', ...call, ...word })
  expect(lastResult(call, 'm1')).toMatchObject({ status: 'cancelled' })
})

test('an agent that reads its history after the answering entries finds no open call', () => {
  const history = [user, asked('a', 'b'), answered('a')]
  const open = openCallsIn(history)
  const entries = lastEntries(open ?? { calls: [], run: 0, epoch: 0 }, 9).map(decodeEntry)
  expect(entries).toEqual([
    {
      type: 'toolResult',
      v: 1,
      at: 9,
      run: 2,
      epoch: 3,
      id: 'cancelled-b',
      toolCallId: 'b',
      toolName: 'look',
      status: 'cancelled',
      output: { type: 'error-text', value: 'This call was cancelled: it did not finish.' },
    },
  ])
  const container = new ContextContainer({
    sessionId: 's',
    workerId: 'w',
    name: 'n',
    kind: 'k',
    parentId: null,
    depth: 0,
  })
  for (const entry of [...history, ...entries]) container.apply(entry)
  expect(container.pending.calls).toEqual([])
  expect(container.passedOver).toBe(0)
})
