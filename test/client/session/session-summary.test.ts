/** How a session stands, by the record of its root alone. */

import { describe, expect, test } from 'vitest'
import {
  factsOf,
  hasEnded,
  lastRunOf,
  resultOfRun,
  runInProgress,
  stateOf,
} from '../../../src/client/session/session-summary.ts'
import { newId, rootIdOf } from '../../../src/core/ids.ts'
import { defaultApproval } from '../../../src/core/worker/ask/session-approval.ts'
import { readSession } from '../../../src/store/record/session-record.ts'
import type { RecordFields } from '../../../src/store/script/replies.ts'

const id = newId(0)
const session = (fields: RecordFields) => readSession({ kind: 'echo', status: 'idle', ...fields }).session

describe('a session', () => {
  test.each([
    [{}, 'active', false],
    [{ cancel: '"why"' }, 'cancelling', false],
    [{ cancel: '"why"', ended: 'cancelled 9' }, 'cancelled', true],
    [{ ended: 'completed 9 1 2' }, 'completed', true],
    [{ ended: 'failed 9 1 2', cancel: '"late"' }, 'failed', true],
  ] as const)('a session whose root says %j is %s', (fields, state, isOver) => {
    expect(stateOf(session(fields))).toBe(state)
    expect(hasEnded(state)).toBe(isOver)
  })

  test('a session summary names the session, when it ended and why it was cancelled', () => {
    const fields = { name: 'mine', mode: 'conversation', cancel: '"enough"', ended: 'cancelled 9' }
    expect(factsOf(id, session(fields), 4)).toEqual({
      id,
      rootId: rootIdOf(id),
      name: 'mine',
      kind: 'echo',
      mode: 'conversation',
      state: 'cancelled',
      createdAt: 4,
      finishedAt: 9,
      cancelReason: 'enough',
      cost: null,
      paused: null,
      closed: null,
      approval: defaultApproval,
      turnShare: { weight: 1, priority: 0 },
      forkedFrom: null,
      branchOf: null,
      result: null,
    })
    expect(factsOf(id, session({ cancel: '{bad' }), null).cancelReason).toBe('{bad')
  })

  test('a session summary says who paused it and why, and that it is paused even if that cannot be read', () => {
    const paused = JSON.stringify({ why: 'look', by: 'ada', at: 5 })
    expect(factsOf(id, session({ paused }), null)).toMatchObject({
      state: 'active',
      paused: { why: 'look', by: 'ada', at: 5 },
    })
    expect(factsOf(id, session({ paused: '{bad' }), null).paused).toEqual({ at: 0 })
  })

  test('a session summary names the run that ended it, else the last one that was read', () => {
    const last = { run: 2, line: 'completed 7' }
    const read = { run: 2, status: 'completed', position: 7 }
    expect(factsOf(id, session({}), null, last).result).toEqual(read)
    expect(factsOf(id, session({ ended: 'failed 9 3 8' }), null, last).result).toMatchObject({ run: 3, position: 8 })
    expect(factsOf(id, session({}), null, { run: 2, line: 'nonsense' }).result).toBeNull()
    expect(resultOfRun(session({ ended: 'failed 9 3 8' }), 3, null)).toMatchObject({ status: 'failed', position: 8 })
    expect(resultOfRun(session({ ended: 'failed 9 3 8' }), 2, 'completed 7')).toEqual(read)
    expect(resultOfRun(session({}), 2, null)).toBeNull()
  })

  test('a conversation waits for its run in progress, or for the last run if the root is idle', () => {
    const wanted = (fields: RecordFields) => runInProgress(session(fields))
    expect(wanted({ run: '3', status: 'running' })).toBeNull()
    const mode = 'conversation'
    expect([wanted({ mode, run: '3', status: 'running' }), wanted({ mode, run: '3' }), wanted({ mode })]).toEqual([
      3, 2, 1,
    ])
    expect([lastRunOf(session({ run: '3' })), lastRunOf(session({}))]).toEqual([2, 1])
  })
})
