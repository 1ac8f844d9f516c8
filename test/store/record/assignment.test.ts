/** An assignment as the scripts give it: positions in the lane of results are counted from the first that the worker ever had. */
import { describe, expect, test } from 'vitest'
import { newId, rootIdOf } from '../../../src/core/ids.ts'
import { defaultSpending } from '../../../src/core/policy.ts'
import type { Assignment } from '../../../src/core/ports/ports.ts'
import { defaultApproval } from '../../../src/core/worker/ask/session-approval.ts'
import { encodeInput, encodeResult } from '../../../src/core/worker/message/message.ts'
import { decodeAssignment, decodeSpendings, readApproval } from '../../../src/store/record/assignment.ts'

const child = { id: newId(0), name: 'child', kind: 'child' }
const result = (call: number) => encodeResult(child, call, { status: 'completed', valueJson: '1' })

test('results are at their positions after those that were taken; a result of which only the head is there counts as unseen', () => {
  const record = ['kind', 'a', 'results', '4', 'run', '2'].join('\0')
  // The second was taken before the first.
  const results = [result(1), '', `r\t${child.id}\t4\tcompleted\t`, result(3)]
  const reply = ['assigned', rootIdOf(newId(0)), 'run', '7:nonce', '0', record, '', [], results, [], ['0']]
  const assignment = decodeAssignment(reply, 0)
  expect(assignment).toMatchObject({ resultsTaken: 4, resultsSeen: 6 })
  expect(assignment.mail.results.map(({ position }) => position)).toEqual([4, 7])
  expect(assignment.largeResults).toEqual(new Map([[4, 1]]))
})

test('inputs and timers are at their positions behind those that were taken', () => {
  const record = ['kind', 'a', 'signals', '3', 'inbox', '5'].join('\0')
  const inputs = [encodeInput(null, '1'), encodeInput(null, '2')]
  const reply = ['assigned', newId(0), 'run', '7:nonce', '0', record, '', ['t\tlater\t1'], [], inputs, null, null, null]
  const { signals, inbox } = decodeAssignment(reply, 0).mail
  expect(signals.map(({ position }) => position)).toEqual([3])
  expect(inbox.map(({ message }) => message.id)).toEqual(['inbox-5', 'inbox-6'])
})

describe('an assignment', () => {
  const assignmentOf = (fields: Readonly<Record<string, string>>) => {
    const record = Object.entries({ kind: 'a', ...fields })
      .flat()
      .join('\0')
    return decodeAssignment(['assigned', newId(0), 'run', '7:nonce', '0', record, '', [], [], [], null, null, null], 0)
  }
  const parent = rootIdOf(newId(0))
  const child = { depth: '1', path1: `${parent}:7`, call: '3' }

  test.each<[string, Readonly<Record<string, string>>, Pick<Assignment, 'call' | 'parentRun' | 'parentId'>]>([
    ['of a child, by which call it was made', child, { parentId: parent, parentRun: 7, call: 3 }],
    [
      'of a child in a later run, no call: the first one has answered it',
      { ...child, run: '2' },
      { parentId: parent, parentRun: 7, call: null },
    ],
    [
      'of a detached one no call: nobody waits for it',
      { ...child, path1: `${parent}:-` },
      { parentId: parent, parentRun: null, call: null },
    ],
    ['of a root no call', {}, { parentId: null, parentRun: null, call: null }],
  ])('%s', (_, fields, facts) => {
    expect(assignmentOf(fields)).toMatchObject(facts)
  })

  test('an assignment says that a root which is no conversation ends its session with its run, and that no child does', () => {
    const jobs = [{}, { mode: 'conversation' }, child].map((fields) => assignmentOf(fields).isJob)
    expect(jobs).toEqual([true, false, false])
  })

  test.each([
    ['', ''],
    ['over which somebody wrote', 'nonsense'],
    ['of which a part is gone', 'kinds\nfolder relative'],
    ['with a restriction of a newer troupe', 'tools a\nhosts example.org'],
  ])('an assignment with permissions %s says that nothing may be used', (_, permissions) => {
    expect(assignmentOf({ permissions }).permissions).toEqual({ tools: [], kinds: [] })
  })

  test('an assignment with whole permissions says what may be used, and one without any that all may', () => {
    expect(assignmentOf({ permissions: 'tools a b' }).permissions).toEqual({ tools: ['a', 'b'] })
    expect(assignmentOf({}).permissions).toEqual({})
  })

  test('an assignment says what is tried again, however many words its text has', () => {
    const retrying = (attempt: string) => {
      const { attempt: tries, retrying: what } = assignmentOf({ attempt })
      return [tries, what]
    }
    expect([retrying('2 model call 3'), retrying('1')]).toEqual([
      [2, 'model call 3'],
      [1, ''],
    ])
  })
})

test.each<[spent: string | null, allowed: string | null, used: object | null, limits: object]>([
  [null, null, null, defaultSpending],
  ['3 40 5', '6 70 8', { modelCalls: 3, tokens: 40, toolCalls: 5 }, { modelCalls: 6, tokens: 70, toolCalls: 8 }],
  // As an older version wrote it.
  ['3 40', null, { modelCalls: 3, tokens: 40, toolCalls: 0 }, defaultSpending],
  ['much', 'no end', null, defaultSpending],
])('of a session that has spent %j and may spend %j an agent knows %j and %j', (spent, allowed, used, limits) => {
  expect(decodeSpendings(spent, allowed)).toEqual({ spent: used, allowed: limits })
})

test('what another program wrote in place of the approvals of a session trusts no tool', () => {
  expect([readApproval(null), readApproval('anything goes')]).toEqual([defaultApproval, defaultApproval])
})
