/** What the runs of an agent leave behind, folded from its entries. */
import { describe, expect, test } from 'vitest'
import type { Entry } from '../../../../src/core/history/entry.ts'
import { RunMetadataFold } from '../../../../src/core/history/run/run-metadata.ts'

const head = { v: 1, at: Date.UTC(2026, 10, 25), run: 1, epoch: 1 }
const received = (kind: 'input' | 'result') => ({ ...head, type: 'received', message: { kind } }) as unknown as Entry
const asked = (...names: string[]) =>
  ({
    ...head,
    type: 'assistant',
    id: 'm',
    model: 'p/m',
    content: names.map((toolName) => ({ type: 'tool-call', toolCallId: toolName, toolName, input: {} })),
  }) as unknown as Entry
const ended = (type: 'completed' | 'failed' | 'cancelled') => ({ ...head, type }) as unknown as Entry
const compacted = { ...head, type: 'compacted' } as unknown as Entry

const state = 'agent_loop.completion_state'
const tool = 'agent_loop.last_tool'
const ready = 'completed_ready_for_prompt'
const requested = 'completed_with_tool_request'

describe('RunMetadataFold', () => {
  test.each<[what: string, entries: Entry[], metadata: object]>([
    ['nothing', [], {}],
    ['an input', [received('input')], {}],
    ['a request', [received('input'), asked('a', 'b')], { [state]: requested, [tool]: 'b' }],
    [
      'a result of a child within the run',
      [received('input'), asked('a'), received('result')],
      { [state]: requested, [tool]: 'a' },
    ],
    ['an answer', [received('input'), asked('a'), asked(), ended('completed')], { [state]: ready, [tool]: 'a' }],
    ['a failed run', [received('input'), asked('a'), ended('failed')], { [tool]: 'a' }],
    ['a cancelled run', [received('input'), asked('a'), ended('cancelled')], { [tool]: 'a' }],
    ['the next input', [received('input'), asked(), ended('completed'), received('input')], {}],
    ['a summary', [compacted], { 'compact.last_run_timestamp': '2026-11-25T00:00:00.000Z' }],
  ])('RunMetadataFold keeps after %s what it left behind [1.7]', (_, entries, metadata) => {
    const fold = new RunMetadataFold()
    for (const entry of entries) fold.apply(entry)
    expect(fold.metadata).toEqual(metadata)
  })
})
