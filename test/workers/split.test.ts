import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Level } from '../../workers/_survey/plan/estimate.ts'
import { shareOut, splitPart, weightOf } from '../../workers/_survey/plan/split.ts'
import { membership, namePart, type Part, wholePart } from '../../workers/_survey/tree/part.ts'
import { decodePath, fromText, joinPath } from '../../workers/_survey/tree/path.ts'

const name = fc.stringMatching(/^[a-z]{1,6}$/).map(fromText)
const level: fc.Arbitrary<Level> = fc.record({
  others: fc.oneof(fc.nat({ max: 20 }), fc.nat({ max: 100_000 })),
  folders: fc.uniqueArray(fc.record({ name, weight: fc.integer({ min: 1, max: 5_000 }) }), {
    selector: (folder) => folder.name,
    maxLength: 40,
  }),
  hasOwnFolder: fc.constant(false),
})

/** The part that holds this entry of the folder. */
function readersOf(parts: readonly Part[], folder: Part, entry: ReturnType<typeof fromText>): Part[] {
  const path = joinPath(decodePath(folder.folder), entry)
  return parts.filter(
    (part) => decodePath(part.folder) === path || (part.folder === folder.folder && membership(part)(entry)),
  )
}

describe('splitting', () => {
  test('splitting gives each entry of the folder to one part (PART-1), and makes no more parts than allowed', () => {
    fc.assert(
      fc.property(
        level,
        fc.array(name, { maxLength: 50 }),
        fc.integer({ min: 1, max: 20 }),
        (given, others, partsMax) => {
          const whole: Part = { ...wholePart('/top', 200), folder: 'in/here' }
          const { parts, named } = splitPart(whole, given, partsMax, Math.max(1, weightOf(given) / partsMax))
          expect(parts.length).toBeGreaterThan(0)
          expect(parts.length).toBeLessThanOrEqual(partsMax)
          expect(parts.filter((part) => part.folder !== whole.folder)).toHaveLength(named)
          const restIsRead = parts.length > named
          for (const { name: folder } of given.folders) expect(readersOf(parts, whole, folder)).toHaveLength(1)
          const files = others.filter((file) => !given.folders.some((folder) => folder.name === file))
          for (const file of files) expect(readersOf(parts, whole, file)).toHaveLength(restIsRead ? 1 : 0)
          // Without a reader for the rest there must be no rest.
          expect(restIsRead || given.others === 0).toBe(true)
        },
      ),
    )
  })

  test('splitting goes on with the rest, and with a part of it, without losing an entry', () => {
    const whole = wholePart('/top', 200)
    const folders = Array.from({ length: 30 }, (_, index) => ({ name: fromText(`f${index}`), weight: 100 }))
    const shares = splitPart(whole, { others: 0, folders, hasOwnFolder: false }, 5, 600).parts
    expect(shares.map((part) => part.share?.of)).toEqual([5, 5, 5, 5, 5])
    const again = shares.flatMap((share) => {
      const own = folders.filter((folder) => membership(share)(folder.name))
      return splitPart(share, { others: 0, folders: own, hasOwnFolder: false }, 3, 250).parts
    })
    expect(new Set(again.map((part) => part.share?.of))).toContain(10)
    for (const folder of folders) expect(readersOf(again, whole, folder.name)).toHaveLength(1)
  })

  test('splitting divides a flat folder into parts as long as that is worth the listings', () => {
    const flat = { others: 50_000, folders: [], hasOwnFolder: false }
    expect(splitPart(wholePart('/top', 200), flat, 20, 2_500).parts).toHaveLength(4)
  })

  test('splitting allows no more workers than the allowance (PLAN-1)', () => {
    fc.assert(
      fc.property(
        fc.array(fc.nat({ max: 1_000 }), { minLength: 1, maxLength: 20 }),
        fc.nat({ max: 300 }),
        (weights, extra) => {
          const parts = weights.map((weight) => ({ ...wholePart('/top', 1), weight }))
          const shared = shareOut(parts, parts.length + extra)
          expect(shared.every((part) => Number.isInteger(part.allowance) && part.allowance >= 1)).toBe(true)
          expect(shared.reduce((sum, part) => sum + part.allowance, 0)).toBeLessThanOrEqual(parts.length + extra)
        },
      ),
    )
  })
})

test('a part has a short name', () => {
  expect(namePart(wholePart('/top', 1))).toBe('.')
  expect(namePart({ ...wholePart('/top', 1), folder: 'a/b', except: ['c'] })).toBe('b (rest)')
  expect(namePart({ ...wholePart('/top', 1), folder: 'a/b', share: { index: 0, of: 3 } })).toBe('b 1/3')
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (folder) => {
      const part: Part = { ...wholePart('/top', 1), folder, share: { index: 99_999, of: 100_000 } }
      expect(Buffer.byteLength(namePart(part))).toBeLessThanOrEqual(64)
    }),
  )
})
