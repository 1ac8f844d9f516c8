/** A record as readers see it: what it holds within other fields has a name of its own. */
import { expect, test } from 'vitest'
import { defaultName } from '../../../src/core/definition/worker-name.ts'
import { newId, rootIdOf } from '../../../src/core/ids.ts'
import { readRecord, sessionOfPath } from '../../../src/store/record/record-fields.ts'

const session = newId(0)
const root = rootIdOf(session)
const parent = rootIdOf(newId(0))

test('the version is the last part of the last commit', () => {
  expect(readRecord({ kind: 'a', commit: '3:a.n0-_Nce:2:17' })).toEqual({
    kind: 'a',
    name: 'a',
    commit: '3:a.n0-_Nce:2',
    version: '17',
  })
  expect(readRecord({ commit: '0::0:1' })).toEqual({ commit: '0::0', version: '1' })
})

test('the name is the given one, else that of the kind, of a child with its call', () => {
  expect(readRecord({ kind: 'a' })).toEqual({ kind: 'a', name: 'a' })
  expect(readRecord({ kind: 'a', call: '3' })).toMatchObject({ name: 'a-3' })
  expect(readRecord({ kind: 'a', call: '3', name: 'x' })).toMatchObject({ name: 'x' })
  expect(readRecord({ kind: 'a', call: 'zz' })).toMatchObject({ name: 'a' })
  expect(readRecord({ call: '3' })).not.toHaveProperty('name')
  const long = 'k'.repeat(64)
  expect(readRecord({ kind: long, call: '12' })).toMatchObject({ name: defaultName(long, 12) })
})

test('the last of a path is the parent with its run, the first is the root of the session', () => {
  expect(readRecord({ depth: '1', path1: `${root}:4` })).toMatchObject({ session, parent: root, parentRun: '4' })
  const path = { depth: '2', path1: `${root}:4`, path2: `${parent}:1` }
  expect(readRecord({ ...path })).toEqual({ ...path, session, parent, parentRun: '1' })
  expect(readRecord({ depth: '1', path1: `${root}:-` })).toMatchObject({ session, parent: root, parentRun: '-' })
  expect([sessionOfPath(`${root}:12`), sessionOfPath(root)]).toEqual([session, session])
})

test.each([
  [{ commit: 'nonsense' }],
  [{ commit: '1:n:1:' }],
  [{ depth: '1', path1: `${root.slice(1)}:1` }],
  [{ depth: '1', path1: 'nonsense' }],
  [{ depth: '1' }],
])('of what somebody wrote over no more is said than is there: %j', (fields) => {
  expect(readRecord({ ...fields })).toEqual(fields)
})

test.each([[{ depth: '2', path1: `${root}:1` }], [{ depth: 'deep', path1: `${root}:1` }], [{ path1: `${root}:1` }]])(
  'a child that has lost its parent has its session: %j',
  (fields) => {
    expect(readRecord({ ...fields })).toEqual({ ...fields, session })
  },
)
