import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { FileMeasure } from '../../workers/_survey/measure/measure.ts'
import { type PlanFact, partNames, planFactName, summaryFact } from '../../workers/_survey/summary/facts.ts'
import { emptySummary, mergeSummaries, type Summary, summarySchema } from '../../workers/_survey/summary/summary.ts'
import { Tally } from '../../workers/_survey/summary/tally.ts'
import { partSchema, wholePart } from '../../workers/_survey/tree/part.ts'
import { type BytePath, encodePath, fromBytes, fromText } from '../../workers/_survey/tree/path.ts'

const messageBytesMax = 1_048_576
const sha256 = (seed: number) => createHash('sha256').update(String(seed)).digest('binary')

function fileOf(parts: Partial<FileMeasure>): FileMeasure {
  const nothing = { text: null, isHardLinked: false, unreadable: null, notes: null, sha256: null }
  return { kind: 'file', bytes: 0, lines: 0, row: null, ...nothing, ...parts }
}

interface Given {
  readonly name: string
  readonly bytes: number
  readonly lines: number
  readonly row: string
  readonly todo: number
  readonly isUnreadable: boolean
}

const given: fc.Arbitrary<Given> = fc.record({
  name: fc.constantFrom('a.ts', 'b.py', 'package.json', 'ü', 'node_modules/x.ts'),
  bytes: fc.integer({ min: 1, max: 4 }),
  lines: fc.nat({ max: 3 }),
  row: fc.constantFrom('TypeScript', 'Binary', 'Other text'),
  todo: fc.nat({ max: 60 }),
  isUnreadable: fc.boolean(),
})

/** Each reader has its own folder, because parts are disjoint. */
function summaryOf(files: readonly Given[], folder: number): Summary {
  const tally = new Tally()
  for (const [index, file] of files.entries()) {
    const kept = Array.from({ length: Math.min(50, file.todo) }, (_, line) => ({
      line: line + 1,
      word: 'TODO' as const,
      text: 'TODO',
    }))
    const measured = fileOf({
      bytes: file.bytes,
      lines: file.lines,
      row: file.row,
      sha256: sha256(file.bytes),
      notes: { todo: file.todo, fixme: 0, kept },
      text: '{"dependencies":{"a":"1"}}',
      unreadable: file.isUnreadable ? 'permission denied' : null,
    })
    tally.addMeasured(fromText(`${folder}/${index}/${file.name}`), measured)
  }
  return tally.summary()
}

const files = fc.array(given, { maxLength: 15 })

test('summaries are merged in any order and grouping (SURVEY-SUMMARY-1)', () => {
  fc.assert(
    fc.property(files, files, files, (a, b, c) => {
      const [x, y, z] = [{ ...summaryOf(a, 1), hasOwnFolder: a.length > 5 }, summaryOf(b, 2), summaryOf(c, 3)]
      const whole = mergeSummaries(mergeSummaries(x, y), z)
      expect(mergeSummaries(x, mergeSummaries(y, z))).toEqual(whole)
      expect(mergeSummaries(mergeSummaries(z, y), x)).toEqual(whole)
      expect(mergeSummaries(emptySummary, x)).toEqual(x)
      expect(summarySchema.parse(JSON.parse(JSON.stringify(whole)))).toEqual(whole)
    }),
    { numRuns: 50 },
  )
})

test('entries whose long paths are cut to the same text have one order, in any order of merging (SURVEY-SUMMARY-1)', () => {
  const long = (end: string) => fromText(`${'x'.repeat(400)}${end}${'y'.repeat(400)}`)
  const [one, other] = ['1', '2'].map((end) => {
    const tally = new Tally()
    tally.addUnreadable(long(end), `reason ${end}`)
    tally.addMeasured(long(end), fileOf({ bytes: 7, lines: Number(end) }))
    return tally.summary()
  }) as [Summary, Summary]
  expect(one.unread[0]?.path).toEqual(other.unread[0]?.path)
  expect(mergeSummaries(other, one)).toEqual(mergeSummaries(one, other))
  expect(mergeSummaries(other, one).unread.map(({ reason }) => reason)).toEqual(['reason 1', 'reason 2'])
})

test('notes in own files come before notes in installed packages', () => {
  const own = summaryOf([{ name: 'z.ts', bytes: 1, lines: 1, row: 'TypeScript', todo: 2, isUnreadable: false }], 9)
  const others = summaryOf(
    [{ name: 'node_modules/a.ts', bytes: 1, lines: 1, row: 'TypeScript', todo: 60, isUnreadable: false }],
    1,
  )
  const merged = mergeSummaries(others, own)
  expect(merged.notes.slice(0, 3).map((note) => note.path)).toEqual(['9/0/z.ts', '9/0/z.ts', '1/0/node_modules/a.ts'])
  expect(merged.counts.todo).toBe(62)
})

test('a summary or a result never exceeds the limit of a message, whatever the folder holds (SURVEY-SUMMARY-2)', () => {
  const tally = new Tally()
  const longName = (index: number) =>
    Buffer.concat([Buffer.alloc(3_000, 0xff), Buffer.from(String(index).padStart(6, '0'))])
  const pathOf = (index: number, name: string) => `${fromBytes(longName(index))}/${name}` as BytePath
  const wide = '\u{10ffff}'.repeat(120)
  const dependencies = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`${'文'.repeat(80)}${index}`, '1']))
  const kept = Array.from({ length: 50 }, (_, line) => ({ line: line + 1, word: 'FIXME' as const, text: wide }))
  for (let index = 0; index < 60; index++) {
    const text = JSON.stringify({ dependencies })
    tally.addMeasured(
      pathOf(index, 'package.json'),
      fileOf({ bytes: 2 ** 50, text, notes: { todo: 0, fixme: 60, kept } }),
    )
    tally.addMeasured(pathOf(index, 'Cargo.toml'), fileOf({ bytes: 2 ** 50, text: '[' }))
    tally.addUnreadable(pathOf(index, 'folder'), 'was replaced by a link while it was surveyed')
  }
  for (let index = 0; index < 80_000; index++) {
    // Far apart, so that the differences of sizes take many bytes.
    tally.addMeasured(fromText(`${index}`), fileOf({ bytes: 2 ** 20 * (index + 1), sha256: sha256(index) }))
  }
  const lost = Array.from({ length: 30 }, (_, index) => ({
    path: encodePath(fromBytes(longName(index)).slice(0, 512) as BytePath),
    reason: `share 20 of 20 of the folder: its reader failed: ${'文'.repeat(200)}`,
  }))
  const summary = { ...tally.summary(), lost }
  expect(Buffer.byteLength(JSON.stringify(summary))).toBeLessThan(0.9 * messageBytesMax)

  const names = Array.from({ length: 20 }, (_, index) => encodePath(fromBytes(longName(index)).slice(-255) as BytePath))
  const part = { ...wholePart('/top', 10), folder: 'some/folder', share: { index: 3, of: 20 }, except: names }
  // A reader all of whose parts were lost: what was read does not travel along.
  const plan: PlanFact = { top: '/top', parts: names.length, folders: 9, hasOwnFolder: true }
  const parts = Object.fromEntries(partNames(3, names.length).map((name) => [name, part]))
  const result = { text: 'x'.repeat(2_000), facts: { [planFactName(3)]: plan, ...parts, [summaryFact]: summary } }
  expect(Buffer.byteLength(JSON.stringify(result))).toBeLessThan(messageBytesMax)
  expect(partSchema.parse(part)).toEqual(part)
})
