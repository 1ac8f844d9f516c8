/** A grant as the scripts give it: places in the lane of results are counted from the first that the worker ever had. */
import { describe, expect, test } from 'vitest'
import { newId, rootIdOf } from '../../../src/core/ids.ts'
import type { Grant } from '../../../src/core/ports/ports.ts'
import { encodeInput, encodeResult } from '../../../src/core/worker/message.ts'
import { decodeGrant } from '../../../src/store/record/grant.ts'

const child = { id: newId(0), name: 'child', kind: 'child' }
const result = (call: number) => encodeResult(child, call, { status: 'completed', valueJson: '1' })

test('results are at their places behind those that were taken, also the one that is awaited behind many others', () => {
  const record = ['kind', 'a', 'family', '4', 'run', '2'].join('\0')
  // The second was taken before the first.
  const family = [result(1), '', result(3)]
  const reply = ['grant', rootIdOf(newId(0)), 'run', '7:nonce', '0', record, '', [], family, [], ['9', result(10)]]
  const grant = decodeGrant(reply, 0)
  expect(grant).toMatchObject({ familyTaken: 4, familySeen: 7 })
  expect(grant.mail.family.map(({ sequence }) => sequence)).toEqual([4, 6, 13])
})

test('inputs and timers are at their places behind those that were taken', () => {
  const record = ['kind', 'a', 'control', '3', 'user', '5'].join('\0')
  const inputs = [encodeInput(null, '1'), encodeInput(null, '2')]
  const reply = ['grant', newId(0), 'run', '7:nonce', '0', record, '', ['t\tlater\t1'], [], inputs, null, null, null]
  const { control, user } = decodeGrant(reply, 0).mail
  expect(control.map(({ sequence }) => sequence)).toEqual([3])
  expect(user.map(({ message }) => message.id)).toEqual(['user-5', 'user-6'])
})

describe('a grant says', () => {
  const grantOf = (fields: Readonly<Record<string, string>>) => {
    const record = Object.entries({ kind: 'a', ...fields })
      .flat()
      .join('\0')
    return decodeGrant(['grant', newId(0), 'run', '7:nonce', '0', record, '', [], [], [], null, null, null], 0)
  }
  const parent = rootIdOf(newId(0))
  const child = { depth: '1', path1: `${parent}:7`, call: '3' }

  test.each<[string, Readonly<Record<string, string>>, Pick<Grant, 'call' | 'parentRun' | 'parentId'>]>([
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
    expect(grantOf(fields)).toMatchObject(facts)
  })

  test('that the root of a session which is no conversation ends with its run, and no child does', () => {
    const jobs = [{}, { mode: 'conversation' }, child].map((fields) => grantOf(fields).isJob)
    expect(jobs).toEqual([true, false, false])
  })

  test.each([
    ['', ''],
    ['over which somebody wrote', 'nonsense'],
    ['of which a part is gone', 'kinds\nfolder relative'],
    ['with a restriction of a newer troupe', 'tools a\nhosts example.org'],
  ])('of a grant %s that nothing may be used', (_, grant) => {
    expect(grantOf({ grant }).allowed).toEqual({ tools: [], kinds: [] })
  })

  test('of a whole grant what may be used, and without one that all may', () => {
    expect(grantOf({ grant: 'tools a b' }).allowed).toEqual({ tools: ['a', 'b'] })
    expect(grantOf({}).allowed).toEqual({})
  })

  test('what is tried again, in as many words as that has', () => {
    const retrying = (attempt: string) => {
      const { attempt: tries, retrying: what } = grantOf({ attempt })
      return [tries, what]
    }
    expect([retrying('2 model call 3'), retrying('1')]).toEqual([
      [2, 'model call 3'],
      [1, ''],
    ])
  })
})
