/** A grant as the scripts give it: places in the lane of results are counted from the first that the worker ever had. */
import { expect, test } from 'vitest'
import { newId, rootIdOf } from '../../src/core/ids.ts'
import { encodeResult } from '../../src/core/message.ts'
import { decodeGrant } from '../../src/store/grant.ts'

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
