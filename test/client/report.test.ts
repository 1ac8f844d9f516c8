/** What the report says of agents, from their records. */
import { describe, expect, test } from 'vitest'
import { sessionReport, type UsageReport, workerReport } from '../../src/client/report.ts'
import { encodeTally } from '../../src/core/agent-tally.ts'
import { childId, newId, rootIdOf } from '../../src/core/ids.ts'
import { encodeRunState } from '../../src/core/run-state.ts'
import type { RecordFields, WorkerRow } from '../../src/store/inspect-store.ts'

const sessionId = newId(0)
const root = rootIdOf(sessionId)
const pending = { user: 0, family: 0, control: 0 }

function row(fields: RecordFields, id = root): WorkerRow {
  const record = { kind: 'planner', session: sessionId, state: 'running', open: '1', ...fields }
  const none = { failureJson: null, node: null, isHosted: true, historyLength: 0, lastEntry: null }
  return { id, fields: record, ...none, pending }
}

const used: UsageReport = {
  modelCalls: 7,
  inputTokens: 50_000,
  outputTokens: 900,
  cacheReadTokens: 4_000,
  cacheWriteTokens: 5,
  reasoningTokens: 60,
}
const tally = encodeTally({ ...used, iterations: 3, ignoredEvents: 9 })

describe('the report of an agent', () => {
  test('tells its iterations and what it used', () => {
    const { iterations, usage } = workerReport(row({ data: tally }))
    expect(iterations).toBe(3)
    expect(usage).toEqual(used)
  })

  test('tells none of a worker without a model, whatever its state is', () => {
    for (const data of [undefined, '@', '"a 1 2 3 4 5 6 7 8"', '{}']) {
      const { iterations, usage } = workerReport(row(data === undefined ? {} : { data }))
      expect({ iterations, usage }).toEqual({ iterations: 0, usage: {} })
    }
  })

  test('tells when the first byte of a reply was seen', () => {
    for (const [firstByteSeen, state] of [
      [false, 'requesting'],
      [true, 'receiving'],
    ] as const) {
      const fsm = encodeRunState('AwaitingLLMResponse', firstByteSeen)
      expect(workerReport(row({ fsm }))).toMatchObject({ run: 'AwaitingLLMResponse', state, lifecycle: 'busy' })
    }
  })

  test('tells that it waits for its children, and for how many', () => {
    const waits = (awaits: string) =>
      workerReport(row({ state: 'parked', fsm: 'ExecutingTools', wait: 'family:4', awaits })).waitsFor
    expect(waits('1-3')).toBe('results of its children; 3 are open')
    expect(waits('2')).toBe('results of its children; 1 is open')
    expect(waits('')).toBe('results of its children')
  })
})

test('the report of a session tells the sum over its workers', () => {
  const workers = [
    row({ data: tally }),
    row({ data: tally }, childId(root, 1, 1)),
    row({ data: '{}' }, childId(root, 1, 2)),
  ]
  const { usage } = sessionReport(sessionId, { workers: '3' }, null, workers.map(workerReport), 'job')
  expect(usage).toEqual({
    workers: 3,
    modelCalls: 14,
    inputTokens: 100_000,
    outputTokens: 1_800,
    cacheReadTokens: 8_000,
    cacheWriteTokens: 10,
    reasoningTokens: 120,
  })
})
