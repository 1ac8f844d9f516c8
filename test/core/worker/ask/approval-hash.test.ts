/** The hash of a call is that of what runs (APPROVAL-HASH-1). */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { approvalHash, canonicalJson, schemaHash } from '../../../../src/core/worker/ask/approval-hash.ts'

const call = { tool: 'pay', schemaHash: 'a1', workerId: 'w', toolCallId: 'c', arguments: { to: 'me', cents: 3 } }

test('the same call has the same hash, whatever the order of its fields', () => {
  expect(approvalHash({ ...call, arguments: { cents: 3, to: 'me' } })).toBe(approvalHash(call))
  expect(approvalHash(call)).toMatch(/^[0-9a-f]{64}$/)
  expect(schemaHash({ type: 'object', properties: {} })).toBe(schemaHash({ properties: {}, type: 'object' }))
})

test.each([
  { tool: 'Pay' },
  { schemaHash: 'a2' },
  { workerId: 'v' },
  { toolCallId: 'd' },
  { arguments: { to: 'me', cents: 4 } },
  { arguments: { to: 'me', cents: '3' } },
  { arguments: { to: 'me' } },
  { arguments: [{ to: 'me', cents: 3 }] },
  { arguments: { to: 'me\u0000', cents: 3 } },
  { arguments: null },
])('a call that differs by %j has another hash', (other) => {
  expect(approvalHash({ ...call, ...other })).not.toBe(approvalHash(call))
})

test('different JSON values have different canonical forms, and the form is JSON of the same value', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.jsonValue(), (one, other) => {
      expect(sorted(JSON.parse(canonicalJson(one)))).toEqual(sorted(JSON.parse(JSON.stringify(one))))
      const areEqual = JSON.stringify(sorted(one)) === JSON.stringify(sorted(other))
      expect(canonicalJson(one) === canonicalJson(other)).toBe(areEqual)
    }),
  )
})

/** Numbers as ECMAScript writes them, short escapes, and names in the order of their UTF-16 units. */
test('the canonical form is that of RFC 8785', () => {
  const value = {
    numbers: [333_333_333.333_333_3, 1e30, 4.5, 2e-3, 0.000_000_000_000_000_000_000_000_001],
    string: '\u20ac$\u000f\nA\'B"\\\\"/',
    literals: [null, true, false],
  }
  expect(canonicalJson(value)).toBe(
    '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}',
  )
  const names = { '\u20ac': 1, '\r': 2, '\ufb33': 3, '1': 4, '\ud83d\ude00': 5, '\u0080': 6, '\u00f6': 7 }
  expect(canonicalJson(names)).toBe('{"\\r":2,"1":4,"\u0080":6,"\u00f6":7,"\u20ac":1,"\ud83d\ude00":5,"\ufb33":3}')
})

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const fields = Object.entries(value)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, field]) => [name, sorted(field)])
  return { fields }
}
