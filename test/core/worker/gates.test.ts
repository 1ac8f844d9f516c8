/** What a record says of the gates of a run. */
import { expect, test } from 'vitest'
import { decodeGates, gatesForm, guestIn, guestName } from '../../../src/core/worker/gates.ts'

test.each([
  ['', null],
  ['in all -', { state: 'in', runs: 'all', rate: null }],
  ['rate - abc', { state: 'rate', runs: null, rate: 'abc' }],
  ['out all abc 7', { state: 'out', runs: 'all', rate: 'abc', guestVersion: 7 }],
])('the gates %j of a record are read as %j', (text, gates) => {
  expect(gatesForm.test(text)).toBe(true)
  expect(decodeGates(text)).toEqual(gates)
})

test('a run at gates of another partition is known by its name', () => {
  const workerId = '0199f3a2-5c1e-8b04-9d68-3e0f7a21c001'
  const name = guestName({ workerId, kind: 'a/b', version: 12 }, { runs: 'all' })
  expect(name).toBe(`a/b ${workerId}:12 all -`)
  expect(guestIn(name)).toEqual({ workerId, version: 12 })
  expect(guestIn('nobody')).toBeNull()
})
