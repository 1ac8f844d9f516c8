/** The record of a worker as an object: every absent field has its default, and every one that was written over is named. */
import { describe, expect, test } from 'vitest'
import { defaultName } from '../../../src/core/definition/worker-name.ts'
import { newId, rootIdOf } from '../../../src/core/ids.ts'
import { defaultWorkerLimits } from '../../../src/core/policy.ts'
import { damageText } from '../../../src/store/record/field.ts'
import { readSession } from '../../../src/store/record/session-record.ts'
import { decodeRecord, readRecord, sessionOfPath, takenOf } from '../../../src/store/record/worker-record.ts'
import type { RecordFields } from '../../../src/store/script/replies.ts'

const session = newId(0)
const root = rootIdOf(session)
const parent = rootIdOf(newId(0))
const least = { kind: 'a', status: 'idle' }
const read = (fields: RecordFields) => readRecord(root, { ...least, ...fields })
const recordOf = (fields: RecordFields) => read(fields).record

describe('a record', () => {
  test('a record that says only its kind and its status is at the start of everything else', () => {
    const { record, damage } = read({})
    expect(damage).toEqual([])
    expect(record).toEqual({
      id: root,
      sessionId: session,
      kind: 'a',
      name: 'a',
      givenName: null,
      status: 'idle',
      mode: 'job',
      pool: 'default',
      depth: 0,
      call: null,
      limits: defaultWorkerLimits,
      permissions: null,
      runPermissions: null,
      token: '',
      lastCommit: { id: '', version: 0 },
      epoch: 0,
      starts: 0,
      run: 1,
      isOpen: false,
      runState: { run: 'Idle', firstByteSeen: false },
      wait: { kind: 'any' },
      attempts: { attempt: 0, retrying: '' },
      calls: 0,
      pendingCalls: [],
      signalsOpen: 0,
      steered: [],
      configured: null,
      steps: 0,
      atOnce: null,
      signalsTaken: 0,
      resultsTaken: 0,
      inputsTaken: 0,
      isolatedStarts: 0,
      begunRun: 0,
      copied: '',
      cost: null,
      crashes: 0,
      lastWords: null,
      queuedAt: null,
      gates: null,
      hasFailed: false,
      data: '',
      parentId: null,
      parentRun: null,
    })
  })

  test('a record keeps the number of its commits behind the id of the last one', () => {
    expect(recordOf({ commit: '3:a.n0-_Nce:2:17' }).lastCommit).toEqual({ id: '3:a.n0-_Nce:2', version: 17 })
    expect(recordOf({ commit: '0::0:1' }).lastCommit).toEqual({ id: '0::0', version: 1 })
  })

  test.each([
    [{}, 0, 0],
    [{ token: '2:' }, 2, 2],
    [{ token: '9:n.2', commit: '5:n.1:1:1' }, 9, 4],
    [{ commit: '9:n.1:3:4' }, 9, 0],
  ])('a record tells how often it was claimed, and how often since its last commit: %j', (fields, epoch, starts) => {
    expect(recordOf(fields)).toMatchObject({ epoch, starts })
  })

  test('a record has its given name, else the name of its kind, for a child with the number of its call', () => {
    const nameOf = (fields: RecordFields) => recordOf(fields).name
    const long = 'k'.repeat(64)
    expect([nameOf({}), nameOf({ call: '3' }), nameOf({ call: '3', name: 'x' }), nameOf({ call: 'zz' })]).toEqual([
      'a',
      'a-3',
      'x',
      'a',
    ])
    expect(nameOf({ kind: long, call: '12' })).toBe(defaultName(long, 12))
    expect(readRecord(root, { status: 'idle', call: '3' }).record.name).toBe('')
  })

  test('a record of a child names its root first and its parent last', () => {
    const path = { depth: '2', path1: `${root}:4`, path2: `${parent}:1` }
    expect(recordOf(path)).toMatchObject({ sessionId: session, parentId: parent, parentRun: 1 })
    expect(recordOf({ depth: '1', path1: `${root}:-` })).toMatchObject({ parentId: root, parentRun: null })
    expect([sessionOfPath(`${root}:12`), sessionOfPath(root)]).toEqual([session, session])
  })

  test('a record of a child that has lost its parent still tells its session', () => {
    for (const path of [{ depth: '2', path1: `${root}:1` }, { path1: `${root}:1` }])
      expect(recordOf(path)).toMatchObject({ sessionId: session, parentId: null })
    expect(recordOf({ depth: '1', path1: 'nonsense' })).toMatchObject({ sessionId: null, parentId: null })
  })

  test('a record counts the messages taken out of each lane', () => {
    const record = recordOf({ signals: '1', results: '2', inbox: '3' })
    expect([takenOf(record, 'signals'), takenOf(record, 'results'), takenOf(record, 'inbox')]).toEqual([1, 2, 3])
  })
})

describe('a field over which somebody wrote', () => {
  test.each([
    'status',
    'mode',
    'open',
    'failed',
    'token',
    'commit',
    'wait',
    'pendingCalls',
    'attempt',
    'limits',
    'permissions',
    'runState',
    'run',
    'depth',
    'signals',
    'results',
    'inbox',
    'isolated',
    'crashes',
    'signalsOpen',
    'calls',
    'call',
  ])('an overwritten field (%s) is named, and read as if it were absent', (field) => {
    const { record, damage } = read({ [field]: ' nonsense' })
    expect(damage).toEqual([{ field, text: ' nonsense' }])
    expect(record).toEqual(recordOf({}))
  })

  test('an overwritten field is reported with its text, or as missing', () => {
    const { damage } = readRecord(root, { status: 'idle', depth: '1' })
    expect(damage.map((one) => damageText(one, 'the record'))).toEqual([
      'field kind of the record should be there',
      'field path1 of the record should be there',
    ])
    expect(damageText({ field: 'run', text: 'x' }, 'it')).toBe('field run of it should not be "x"')
  })

  test('overwritten permissions of a worker permit nothing, also for readers that do not check', () => {
    const nothing = { tools: [], kinds: [] }
    for (const permissions of ['', 'nonsense', 'kinds\nfolder relative', 'tools a\nhosts example.org'])
      expect(decodeRecord(root, { ...least, permissions }).permissions).toEqual(nothing)
  })
})

describe('the record of a root', () => {
  test('the record of a root without fields of a session reads as a new session', () => {
    expect(readSession({ ...least, mode: 'conversation' })).toMatchObject({
      session: { name: 'a', mode: 'conversation', end: null, cancelReasonJson: null, workers: 1, spent: null },
      damage: [],
    })
  })

  test('the record of a root keeps status, time, run and position of its end in one field', () => {
    const endOf = (ended: string) => readSession({ ...least, ended }).session.end
    expect(endOf('completed 12 3 4')).toEqual({
      status: 'completed',
      at: 12,
      result: { run: 3, status: 'completed', position: 4 },
    })
    expect(endOf('cancelled 12')).toEqual({ status: 'cancelled', at: 12, result: null })
  })

  test.each(['ended', 'workers', 'cancelCount', 'retired', 'resting', 'spent', 'caps'])(
    'the record of a root names an overwritten field: %s',
    (field) => {
      const { session: damaged, damage } = readSession({ ...least, [field]: 'nonsense' })
      expect(damage).toEqual([{ field, text: 'nonsense' }])
      expect(damaged).toEqual(readSession(least).session)
    },
  )
})
