import fc from 'fast-check'
import { expect, test } from 'vitest'
import { countNewlines } from '../../../workers/_survey/measure/newlines.ts'

function countOneByOne(bytes: Uint8Array): number {
  return bytes.filter((byte) => byte === 0x0a).length
}

// Mostly newlines and their neighbours in value: what a trick with bits gets wrong.
const trickyByte = fc.oneof(
  fc.constantFrom(0x0a, 0x0b, 0x09, 0x8a, 0x00, 0xff, 0x80, 0x7f),
  fc.integer({ min: 0, max: 255 }),
)

test('newlines are counted between any two positions', () => {
  fc.assert(
    fc.property(
      fc.array(trickyByte, { maxLength: 200 }),
      fc.nat({ max: 7 }),
      fc.nat({ max: 200 }),
      fc.nat({ max: 200 }),
      (content, offset, a, b) => {
        const bytes = Buffer.from(new Uint8Array([...Array<number>(offset).fill(10), ...content]).buffer, offset)
        const [start, end] = [Math.min(a, b, bytes.length), Math.min(Math.max(a, b), bytes.length)]
        expect(countNewlines(bytes, start, end)).toBe(countOneByOne(bytes.subarray(start, end)))
      },
    ),
  )
})

test('a long run of newlines overflows nothing', () => {
  const bytes = Buffer.alloc(100_003, 0x0a)
  expect(countNewlines(bytes)).toBe(100_003)
  expect(countNewlines(bytes, 1, 100_002)).toBe(100_001)
})
