import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type Content,
  ContentCollector,
  cutDigest,
  keyOf,
  mergeContents,
  noContents,
  unpack,
} from '../../../workers/_survey/measure/contents.ts'
import { totalCopies } from '../../../workers/_survey/report/copies.ts'

const digestOf = (seed: number) => cutDigest(createHash('sha256').update(String(seed)).digest('binary'))

function pack(files: readonly { size: number; seed: number }[]): string {
  const collector = new ContentCollector()
  for (const { size, seed } of files) collector.add(size, digestOf(seed))
  return collector.pack()
}

// Few sizes and seeds, so that there are copies; and some sizes at the edges of the coding.
const size = fc.oneof(
  fc.integer({ min: 1, max: 5 }),
  fc.constantFrom(63, 64, 127, 128, 16_384, 2 ** 31, 2 ** 40, 2 ** 52 - 1),
)
const files = fc.array(fc.record({ size, seed: fc.nat({ max: 6 }) }), { maxLength: 40 })

describe('a packed list of contents', () => {
  test('a packed list of contents holds each content once, with its number of files, the largest first', () => {
    fc.assert(
      fc.property(files, (given) => {
        const counted = new Map<string, number>()
        for (const { size, seed } of given) {
          const key = keyOf({ size, digest: digestOf(seed) })
          counted.set(key, (counted.get(key) ?? 0) + 1)
        }
        const contents = [...unpack(pack(given))]
        expect(new Map(contents.map((content) => [keyOf(content), content.files]))).toEqual(counted)
        expect(contents.map((content) => content.size)).toEqual(given.length === 0 ? [] : sizesDown(contents))
      }),
    )
  })

  test('a packed list of contents is merged in any order and grouping (CONTENTS-1)', () => {
    fc.assert(
      fc.property(files, files, files, (a, b, c) => {
        const [x, y, z] = [pack(a), pack(b), pack(c)]
        const whole = pack([...a, ...b, ...c])
        expect(mergeContents(mergeContents(x, y), z)).toBe(whole)
        expect(mergeContents(z, mergeContents(y, x))).toBe(whole)
        expect(mergeContents(noContents, x)).toBe(x)
        expect(mergeContents(x, noContents)).toBe(x)
      }),
    )
  })

  test('a packed list of contents keeps the largest contents with all their files when it is full (CONTENTS-1)', () => {
    const part = (from: number) =>
      Array.from({ length: 40_000 }, (_, index) => ({ size: 1 + ((index * 7 + from) % 60_000), seed: index }))
    const parts = [part(0), part(20_000), part(45_000)]
    const all = pack(parts.flat())
    const [a, b, c] = parts.map(pack) as [string, string, string]
    expect(Buffer.byteLength(all)).toBeLessThanOrEqual(600_000)
    expect(mergeContents(mergeContents(a, b), c)).toBe(all)
    expect(mergeContents(a, mergeContents(c, b))).toBe(all)
    const kept = [...unpack(all)]
    expect(kept.length).toBeGreaterThan(45_000)
    const smallest = kept.at(-1) as Content
    const bigger = parts.flat().filter((file) => file.size > smallest.size)
    const keptBigger = kept.filter((content) => content.size > smallest.size)
    expect(keptBigger.reduce((sum, content) => sum + content.files, 0)).toBe(bigger.length)
  })

  test('a packed list of more contents than fit in memory is the same', () => {
    const pruned = new ContentCollector(60_000)
    const whole = new ContentCollector(1_000_000)
    for (let seed = 0; seed < 100_000; seed++) {
      const [size, digest] = [1 + ((seed * 7) % 50_000), digestOf(seed)]
      pruned.add(size, digest)
      whole.add(size, digest)
    }
    expect(pruned.pack()).toBe(whole.pack())
  })
})

test('copies of a content are added up', () => {
  const totals = totalCopies(
    pack([
      ...Array.from({ length: 3 }, () => ({ size: 100, seed: 1 })),
      { size: 5, seed: 2 },
      { size: 5, seed: 2 },
      { size: 9, seed: 3 },
    ]),
  )
  expect(totals).toMatchObject({ groups: 2, copies: 3, wastedBytes: 205, compared: 6 })
  expect(totals.worst.map((content) => content.size)).toEqual([100, 5])
})

function sizesDown(contents: readonly Content[]): number[] {
  return contents.map((content) => content.size).sort((a, b) => b - a)
}
