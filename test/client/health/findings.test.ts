/** Findings as data: a code, the facts that it rests on, whom it names, and a command that helps. */
import { expect, test } from 'vitest'
import { judge } from '../../../src/client/health/findings.ts'
import { liveNode, healthySystem as well } from '../../support/healthy-system.ts'

test('a healthy system has an ok finding for each thing that was checked', () => {
  expect(judge(well).map(({ code, level }) => `${code} ${level}`)).toEqual([
    'redis_version ok',
    'eviction ok',
    'append_only_file ok',
    'memory ok',
    'clock ok',
    'nodes ok',
    'run_queue ok',
    'dead_letters ok',
  ])
})

test('a finding about workers names them, the most urgent first, and a command that helps', () => {
  const unhosted = [5_000, 90_000, 7_000].map((waitingMs, index) => ({ id: `w${index}`, kind: 'x', waitingMs }))
  const found = judge({ ...well, unhosted }).find(({ code }) => code === 'kind_unhosted')
  expect(found).toEqual({
    code: 'kind_unhosted',
    level: 'problem',
    facts: { kind: 'x', workers: 3, isAtLeast: false, oldestMs: 90_000 },
    workerIds: ['w1', 'w2', 'w0'],
    command: 'troupe worker show w1',
  })
  const stranded = [{ id: 'w', reason: 'no_lease' } as const]
  expect(judge({ ...well, stranded })).toContainEqual({
    code: 'workers_stranded',
    level: 'problem',
    facts: { workers: 1, reason: 'no_lease' },
    workerIds: ['w'],
    command: 'troupe audit',
  })
})

test('a pool that only draining nodes serve is not served: nobody knows how many more of its workers no node can run', () => {
  const draining = { ...liveNode, id: 'd', pools: ['old'], draining: 1 }
  const unhosted = [{ id: 'w', kind: 'x', waitingMs: 5 }]
  const pool = { queued: 9, oldestMs: 5, wakeups: 0, busy: 0 }
  const isAtLeast = (queuedIn: string) =>
    judge({ ...well, nodes: [liveNode, draining], unhosted, pools: [{ pool: queuedIn, ...pool }] }).flatMap((found) =>
      found.code === 'kind_unhosted' ? found.facts.isAtLeast : [],
    )
  expect(isAtLeast('default')).toEqual([false])
  expect(isAtLeast('old')).toEqual([true])
})

test('findings of health can be sent as JSON', () => {
  const all = judge({ ...well, deadLetters: 3, settled: 1, expiredLeases: 2, submitIsPaused: true })
  expect(JSON.parse(JSON.stringify(all))).toEqual(all)
  expect(all).toContainEqual({
    code: 'dead_letters',
    level: 'warning',
    facts: { kept: 3, open: 2 },
    command: 'troupe mailbox dead',
  })
})
