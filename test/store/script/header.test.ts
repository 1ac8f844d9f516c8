/** The header of a script's arguments: what is sent in it is what the script's descriptor names. */
import { describe, expect, test } from 'vitest'
import { encodeHeader } from '../../../src/store/script/script.ts'
import * as scripts from '../../../src/store/script/scripts.ts'
import { calls } from '../support/calls/calls.ts'
import { Place } from '../support/place.ts'

type Described = Readonly<Record<string, readonly string[]>>

/** Fields that are sent, and that neither the header nor the list or object around them has in the descriptor. */
function undescribed(value: unknown, known: readonly string[], fields: Described): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => undescribed(item, known, fields))
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, inner]) => [
    ...(known.includes(name) ? [] : [name]),
    ...undescribed(inner, fields[name] ?? [], fields),
  ])
}

describe('the header that is sent has no field that its descriptor does not name', () => {
  test.each(calls)('$name', async (call) => {
    await using place = await Place.open()
    await (await call.prepare(place))()
    const { sha, keyCount, flat } = place.wire.last
    const script = Object.values(scripts).find((one) => one.sha === sha)
    if (script === undefined || script.header.length === 0) return
    const header: unknown = JSON.parse(String(flat[keyCount]))
    expect(Object.keys(header as object)).not.toEqual([])
    expect(undescribed(header, script.header, script.fields ?? {})).toEqual([])
  })
})

test('a field that is undefined is left out, and so is a field that the header does not name', () => {
  const values = { c: { d: undefined, e: [] }, b: undefined, a: 1, other: 2 }
  expect(encodeHeader(['a', 'b', 'c'], values)).toBe('{"a":1,"c":{"e":[]}}')
})

test('half of a character pair becomes the sign that it becomes in any other argument', () => {
  expect(encodeHeader(['name'], { name: 'x\ud83d' })).toBe('{"name":"x\ufffd"}')
  expect(encodeHeader(['name'], { name: '\ud83d\ude00' })).toBe('{"name":"\ud83d\ude00"}')
})
