/** What the report says of agents, from their records. */
import { describe, expect, test } from 'vitest'
import { sessionReport, workerReport } from '../../../src/client/report.ts'
import { factsOf } from '../../../src/client/session/session-summary.ts'
import { encodeTally } from '../../../src/core/history/run/agent-tally.ts'
import { childId, newId, rootIdOf, timeOf } from '../../../src/core/ids.ts'
import { encodeRunState } from '../../../src/core/worker/run/run-state.ts'
import type { UsageReport } from '../../../src/core/worker/run/usage.ts'
import { readSession } from '../../../src/store/record/session-record.ts'
import type { RecordFields } from '../../../src/store/script/replies.ts'
import { readableRow } from '../support/worker-row.ts'

const sessionId = newId(0)
const root = rootIdOf(sessionId)
const row = (fields: RecordFields, id = root) => readableRow(id, fields)

/** What the report of the session says if its root has these fields. */
function reportOf(fields: RecordFields, workers: Parameters<typeof sessionReport>[2] = []) {
  const { session } = readSession({ kind: 'planner', status: 'idle', ...fields })
  return sessionReport(factsOf(sessionId, session, null), session, workers)
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
  test('the report of an agent shows its iterations and its usage', () => {
    const { iterations, usage } = workerReport(row({ data: tally }))
    expect(iterations).toBe(3)
    expect(usage).toEqual(used)
  })

  test('the report of an agent has no usage for a worker without a model, whatever its state is', () => {
    for (const data of [undefined, '@', '"a 1 2 3 4 5 6 7 8"', '{}']) {
      const { iterations, usage } = workerReport(row(data === undefined ? {} : { data }))
      expect({ iterations, usage }).toEqual({ iterations: 0, usage: {} })
    }
  })

  test('the report of an agent tells when the first byte of a reply was seen', () => {
    for (const [firstByteSeen, state] of [
      [false, 'requesting'],
      [true, 'receiving'],
    ] as const) {
      const runState = encodeRunState('AwaitingLLMResponse', firstByteSeen)
      expect(workerReport(row({ runState }))).toMatchObject({ run: 'AwaitingLLMResponse', state, lifecycle: 'busy' })
    }
  })

  test('the report of an agent tells that it waits for its children, and for how many', () => {
    const waits = (pendingCalls: string, more: RecordFields = {}) =>
      workerReport(row({ status: 'parked', runState: 'ExecutingTools', wait: 'results:4', pendingCalls, ...more }))
        .waitsFor
    expect(waits('1-3')).toBe('results of its children; 3 are open')
    expect(waits('2')).toBe('results of its children; 1 is open')
    expect(waits('1-3', { calls: '3' })).toBe('results of its children; 3 are open')
    expect(waits('1-3', { calls: '7' })).toBe('results of its children; 3 of the 7 that it spawned are open')
    expect(waits('')).toBe('results of its children')
  })
})

describe('the report of a worker', () => {
  const waits = (fields: RecordFields, status = 'parked') => workerReport(row({ status, ...fields })).waitsFor
  const third = childId(root, 2, 3)

  test.each<[RecordFields, string]>([
    [{ wait: 'signals' }, 'a timer or an answer'],
    [{ wait: 'any' }, 'input'],
    [{}, 'input'],
    [{ wait: 'retry', attempt: '1' }, 'a retry after 1 failed attempt'],
    [{ wait: 'retry', attempt: '3 model:2' }, 'a retry after 3 failed attempts'],
    [
      { wait: `result:${third}`, run: '2', calls: '3', pendingCalls: '3' },
      `the result of its child number 3 (${third})`,
    ],
    [
      { wait: `result:${third}`, run: '2', calls: '5', pendingCalls: '3-5' },
      `the result of its child number 3 (${third}); 3 children are open`,
    ],
    [{ wait: `result:${third}`, run: '1', calls: '5', pendingCalls: '3' }, `the result of worker ${third}`],
    [{ wait: `result:${third}`, run: '2', calls: '2', pendingCalls: '3' }, `the result of worker ${third}`],
    [{ wait: `result:${third}` }, `the result of worker ${third}; 0 children are open`],
  ])('a parked worker tells what it waits for: %j', (fields, told) => {
    expect(waits(fields)).toBe(told)
  })

  test('a worker that is not parked waits for a slot or for nothing', () => {
    for (const wait of ['any', 'signals', 'retry']) {
      expect(waits({ wait }, 'queued')).toBe('a free slot')
      for (const status of ['running', 'idle', 'terminal']) expect(waits({ wait }, status)).toBeNull()
    }
  })

  test.each<[RecordFields, number]>([
    [{ token: '2:' }, 2],
    [{ token: '9:', commit: '5:n.1:1:1' }, 4],
    [{ token: '4:', isolated: '2' }, 4],
  ])('a queued worker that must run apart from others says so, and why: %j', (fields, starts) => {
    const told = `a free slot of a node that runs no other suspect: it was started ${starts} times without a commit`
    expect(waits(fields, 'queued')).toBe(told)
  })

  test.each<[RecordFields]>([
    [{ token: '1:' }],
    [{ token: '9:', commit: '9:n.1:1:1' }],
    [{ commit: '9:n.1:1:1' }],
    // Claimed for its failing end alone, beside any other.
    [{ token: '5:', isolated: '3' }],
  ])('a queued worker that may run beside others waits for any slot: %j', (fields) => {
    expect(waits(fields, 'queued')).toBe('a free slot')
  })

  test('the report of a worker tells how many children it awaits, and how many runs it has begun', () => {
    expect(workerReport(row({ pendingCalls: '2-4' })).openChildren).toBe(3)
    expect(workerReport(row({})).openChildren).toBe(0)
    const runs = (fields: RecordFields) => workerReport(row({ run: '4', ...fields })).runs
    expect([runs({}), runs({ open: '0' }), runs({ status: 'parked' }), runs({ status: 'idle', open: '0' })]).toEqual([
      4, 4, 4, 3,
    ])
  })

  test('the report of a worker tells its last failure, and when its newest entry was written; before the first, when its session was made', () => {
    const failure = { code: 'run_failed', message: 'no' }
    const old = row({})
    const made = Number.parseInt(sessionId.replaceAll('-', '').slice(0, 12), 16)
    expect(Math.abs(Date.now() - made)).toBeLessThan(600_000)
    expect(workerReport(old)).toMatchObject({ updatedAt: made, lastFailure: null })
    const later = workerReport({ ...old, failureJson: JSON.stringify(failure), updatedAt: 123 })
    expect(later).toMatchObject({ updatedAt: 123, lastFailure: failure })
    // The id of a child carries no time: its session's does.
    expect(workerReport(row({ depth: '1', path1: `${root}:1` }, childId(root, 1, 1))).updatedAt).toBe(made)
  })

  test('the report of a worker counts the waiting mail of all its lanes, and shows the one that comes first', () => {
    const lanes = { ...row({}), pending: { inbox: 1, results: 20, signals: 300 } }
    expect(workerReport(lanes).mailbox).toEqual({ pending: 321, signals: 300 })
  })

  test('a root needs no field that names its session', () => {
    const report = workerReport(row({ status: 'idle', open: '0' }))
    expect(report).toMatchObject({
      sessionId,
      name: 'planner',
      parentId: null,
      depth: 0,
      permissions: null,
      status: 'idle',
    })
    expect(report.updatedAt).toBe(workerReport(row({})).updatedAt)
    expect(workerReport(row({ kind: '' }))).toMatchObject({ name: '' })
  })
})

test('the report of a session names a failure only if the session has failed, and not while it goes on', () => {
  const failureJson = JSON.stringify({ code: 'run_failed', message: 'no' })
  const workers = [workerReport({ ...row({ status: 'idle' }), failureJson })]
  const failureOf = (fields: RecordFields) => reportOf({ mode: 'conversation', ...fields }, workers).failure
  expect(failureOf({ ended: 'failed 1' })).toMatchObject({ message: 'no' })
  for (const fields of [{}, { ended: 'completed 1' }, { ended: 'cancelled 1' }, { cancel: '"why"' }])
    expect(failureOf(fields)).toBeNull()
})

test('the report of a session gives the sum over its workers', () => {
  const workers = [
    row({ data: tally }),
    row({ data: tally }, childId(root, 1, 1)),
    row({ data: '{}' }, childId(root, 1, 2)),
  ]
  const { usage } = reportOf(
    { workers: '3' },
    workers.map((one) => workerReport(one)),
  )
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

describe('the report of a worker over whose words somebody wrote', () => {
  test('the report of an overwritten worker shows everything else, and says that its failure cannot be read', () => {
    const damaged = {
      ...row({ status: 'idle', open: '0', runState: 'Failed', failed: '1' }),
      failureJson: '{bad',
    }
    const { state, updatedAt, lastFailure } = workerReport(damaged)
    expect({ state, code: lastFailure?.code }).toEqual({ state: 'inactiveFailed', code: 'bug' })
    expect(lastFailure?.message).toContain('cannot be read')
    expect(updatedAt).toBe(timeOf(sessionId))
    expect(reportOf({ ended: 'cancelled 1', cancel: '{bad' }).cancelReason).toBe('{bad')
  })
})
