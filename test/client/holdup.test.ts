/** Why a worker or a session does not go on, since when, until when, and which command helps (HOLDUP-1). */
import { describe, expect, test } from 'vitest'
import { type Holdup, type HoldupReason, holdupOf, holdupOfAsk, holdupsOf } from '../../src/client/holdup.ts'
import type { ReadableRow } from '../../src/client/worker-rows.ts'
import { childId, newId, rootIdOf } from '../../src/core/ids.ts'
import type { AskSort } from '../../src/core/worker/ask/ask.ts'
import type { RecordFields } from '../../src/store/script/replies.ts'
import { readableRow } from './support/worker-row.ts'

const sessionId = newId(0)
const root = rootIdOf(sessionId)
const ask = newId(0)
const updatedAt = 1_000

const asked = (kind: AskSort, asks = 1) => ({
  open: { timers: 0, asks, some: [{ id: ask, kind, question: 'Ship it?', askedAt: 500 }] },
})
const times = (some: Partial<ReadableRow['times']>) => ({
  times: { queuedAt: null, dueAt: null, leaseEndsAt: null, ...some },
})
const parked = (wait: string, more: RecordFields = {}) => ({ status: 'parked', wait, ...more })
const failed = (code: string, message = 'no') => ({ failureJson: JSON.stringify({ code, message, at: 700 }) })
const usedUp = `it has used 2 of 2: raise it: troupe session limit ${sessionId} modelCalls=4`

type Expected = Partial<Holdup> | null
const cases: [what: string, fields: RecordFields, more: Partial<ReadableRow>, expected: Expected][] = [
  [
    'an ask for a person',
    parked('signals', { signalsOpen: '1' }),
    asked('question'),
    {
      reason: 'question',
      waitsFor: 'a person to answer "Ship it?"',
      needsSomebody: true,
      since: 500,
      command: `troupe ask answer ${ask} <answer>`,
    },
  ],
  [
    'several asks',
    parked('signals', { signalsOpen: '2' }),
    asked('question', 2),
    { reason: 'question', command: `troupe ask list --session ${sessionId}` },
  ],
  [
    'a signal of another system',
    parked('signals', { signalsOpen: '1' }),
    asked('signal'),
    { reason: 'signal', needsSomebody: true, command: `troupe ask answer ${ask} '<json>'` },
  ],
  [
    'an approval',
    parked('signals', { signalsOpen: '1' }),
    asked('approval'),
    {
      reason: 'approval',
      waitsFor: 'a person to approve "Ship it?"',
      needsSomebody: true,
      command: `troupe approval show ${ask}`,
    },
  ],
  [
    'a pause of its session',
    { status: 'queued' },
    { pause: { of: 'session', at: 300, by: 'ada' } },
    { reason: 'pause', needsSomebody: true, since: 300, command: `troupe session resume ${sessionId}` },
  ],
  [
    'a pause of all sessions, also where no node is there',
    { status: 'queued' },
    { pause: { of: 'all', at: 300 }, isHosted: false },
    { reason: 'pause of all', needsSomebody: true, since: 300, command: 'troupe resume --all' },
  ],
  [
    'a node of its kind',
    { status: 'queued' },
    { isHosted: false, ...times({ queuedAt: 800 }) },
    { reason: 'no node', waitsFor: 'a node that hosts planner', needsSomebody: true, since: 800 },
  ],
  [
    'a slot',
    { status: 'queued' },
    times({ queuedAt: 800 }),
    { reason: 'slot', needsSomebody: false, since: 800, command: null },
  ],
  [
    'a timer',
    parked('signals', { signalsOpen: '1' }),
    { open: { timers: 1, asks: 0, some: [] }, ...times({ dueAt: 9_000 }) },
    { reason: 'timer', waitsFor: 'a timer', needsSomebody: false, since: updatedAt, until: 9_000, command: null },
  ],
  [
    'a retry',
    parked('retry', { attempt: '1' }),
    times({ dueAt: 9_000 }),
    { reason: 'retry', until: 9_000, command: `troupe worker history ${root}` },
  ],
  [
    'its children',
    parked('results:2', { pendingCalls: '1-2' }),
    {},
    { reason: 'children', needsSomebody: false, command: null },
  ],
  [
    'the rest of its children, while the results of others wait for theirs',
    parked('results:3', { pendingCalls: '1-3', calls: '4' }),
    { pending: { inbox: 0, results: 2, signals: 0 } },
    { reason: 'children', waitsFor: 'results of its children; 1 of the 4 that it spawned is open' },
  ],
  [
    'the lease of a silent node',
    {},
    { node: 'n', nodeSeenAt: 1_000, readAt: 7_000, ...times({ leaseEndsAt: 12_000 }) },
    {
      reason: 'lease',
      waitsFor: expect.stringContaining('its lease to end'),
      since: 1_000,
      until: 12_000,
      command: 'troupe node release n',
    },
  ],
  [
    'a live node, after its lease has ended',
    { lastWords: 'blocked, at loop.ts:4:3' },
    { node: 'n', nodeSeenAt: 1_000, readAt: 20_000, ...times({ leaseEndsAt: 12_000 }) },
    {
      reason: 'lease',
      waitsFor: expect.stringMatching(/^a live node, .* n .*loop\.ts:4:3$/),
      command: 'troupe doctor',
    },
  ],
  [
    'nothing while it runs',
    {},
    { node: 'n', nodeSeenAt: 6_500, readAt: 7_000, ...times({ leaseEndsAt: 12_000 }) },
    null,
  ],
  ['nothing once it rests', { status: 'idle', open: '0' }, {}, null],
  [
    'a higher limit',
    { status: 'idle', open: '0', failed: '1' },
    failed('budget_exceeded', usedUp),
    {
      reason: 'budget',
      needsSomebody: true,
      since: 700,
      command: `troupe session retry ${sessionId} --limits modelCalls=4`,
    },
  ],
  [
    'somebody who retries its failed run',
    { status: 'idle', open: '0', failed: '1' },
    failed('handler_failed'),
    { reason: 'failure', needsSomebody: true, since: 700, command: `troupe session retry ${sessionId}` },
  ],
]

describe('a worker waits for', () => {
  test.each(cases)('%s', (_, fields, more, expected) => {
    const found = holdupOf(readableRow(root, fields, more), sessionId, updatedAt)
    expect({ found }).toMatchObject({ found: expected && { workerId: root, ...expected } })
  })

  test('a child that has failed waits for nobody: its parent knows', () => {
    const child = childId(root, 1, 1)
    const fields = { status: 'idle', open: '0', failed: '1', parent: root, path1: `${root}:1`, depth: '1' }
    expect(holdupOf(readableRow(child, fields, failed('handler_failed')), sessionId, updatedAt)).toBeNull()
  })

  test('a worker waits for the answer to an ask, in the same words as the inbox shows', () => {
    const inTree = holdupOf(readableRow(root, parked('signals', { signalsOpen: '1' }), asked('question')), sessionId, 1)
    expect(holdupOfAsk({ id: ask, kind: 'question', question: 'Ship it?', askedAt: 500, workerId: root })).toEqual(
      inTree,
    )
  })
})

describe('a session does not go on because of', () => {
  const held = (reason: HoldupReason, needsSomebody: boolean, since = 1): Holdup => {
    return { reason, workerId: root, waitsFor: reason, needsSomebody, since, until: null, command: null }
  }
  const worker = (status: 'idle' | 'running' | 'parked', holdup: Holdup | null) => {
    return { id: root, status, updatedAt, holdup } as const
  }
  const flow = { id: sessionId, rootId: root, mode: 'job', state: 'active' } as const
  const reasons = (workers: Parameters<typeof holdupsOf>[1], more: Partial<Parameters<typeof holdupsOf>[0]> = {}) =>
    holdupsOf({ ...flow, ...more }, workers).map(({ reason }) => reason)

  test('a session waits for what its children wait for; that its root waits for them is not reported', () => {
    const children = worker('parked', held('children', false))
    expect(reasons([children, worker('parked', held('timer', false))])).toEqual(['timer'])
    expect(reasons([children])).toEqual(['children'])
  })

  test('a session waits for what somebody must do first, even while other workers run, and for nothing if nobody must act', () => {
    const timer = worker('parked', held('timer', false))
    const question = worker('parked', held('question', true, 5))
    const pause = worker('parked', held('pause', true, 9))
    const older = worker('parked', held('question', true, 2))
    expect(reasons([timer, question, pause])).toEqual(['pause', 'question'])
    expect(holdupsOf(flow, [question, older]).map(({ since }) => since)).toEqual([2, 5])
    expect(reasons([timer, worker('running', null), question])).toEqual(['question'])
    expect(reasons([timer, worker('running', null)])).toEqual([])
  })

  test('a conversation whose root is idle waits for its next message', () => {
    expect(holdupsOf({ ...flow, mode: 'conversation' }, [worker('idle', null)])).toMatchObject([
      { reason: 'message', since: updatedAt, command: `troupe send ${sessionId} <text>` },
    ])
    expect(reasons([worker('idle', null)])).toEqual([])
  })

  test('a session whose run failed waits for a retry; a session that ended otherwise waits for nothing', () => {
    const failure = worker('idle', held('failure', true))
    expect(reasons([failure], { state: 'failed' })).toEqual(['failure'])
    for (const state of ['completed', 'cancelled'] as const)
      expect(reasons([failure, worker('parked', held('timer', false))], { state })).toEqual([])
  })
})
