/**
 * Duty: hold what is known about a part of the folder: figures, and lists cut to their first items. Each reader returns a summary, and its parent
 * merges the summaries.
 * SURVEY-SUMMARY-1 Merging is associative and does not depend on order. The empty summary changes nothing.
 * SURVEY-SUMMARY-2 A summary stays well below 1 MiB of JSON, whatever the folder holds, because every list and every text in it is limited.
 */
import { z } from 'zod'
import { mergeContents, noContents } from '../measure/contents.ts'
import { dependencyGroupSchema } from '../measure/manifests.ts'
import { noteSchema, notesMax } from '../measure/notes.ts'
import { isVendored } from '../measure/vendored.ts'
import { comparePaths, decodePath, type PathText, pathTextSchema } from '../tree/path.ts'

export const largestMax = 10
export const listMax = 30

const countKeys = [
  /** How many workers took part. */
  'workers',
  'files',
  'bytes',
  'lines',
  /** Files and folders that could not be read, and parts that were lost. */
  'unreadable',
  /** Folders below the surveyed folder. */
  'folders',
  'links',
  /** Sockets, FIFOs, devices. */
  'others',
  'emptyFiles',
  'hardLinkedFiles',
  /** Files whose content was hashed; `contents` may not hold all of them. */
  'hashedFiles',
  'todo',
  'fixme',
  /** Links, including broken ones. */
  'manifestFiles',
  'declared',
  /** Parts whose reader failed. */
  'lostParts',
] as const

export type Counts = Record<(typeof countKeys)[number], number>

// Not z.int(): the sizes of sparse files may add up to more than a safe integer.
const count = z.number().min(0)
const rowSchema = z.object({ files: count, bytes: count, lines: count })
const placed = { path: pathTextSchema }
const sizedFileSchema = z.object({ ...placed, bytes: count })
const placedNoteSchema = noteSchema.extend(placed)
const manifestSchema = z.object({ ...placed, ecosystem: z.string(), groups: z.array(dependencyGroupSchema) })
const reasonSchema = z.object({ ...placed, reason: z.string() })

export const summarySchema = z.object({
  counts: z.record(z.enum(countKeys), count),
  /** True if troupe's own folder was found. */
  hasOwnFolder: z.boolean(),
  /** The files that could be read, by language, other text and binary. */
  rows: z.record(z.string(), rowSchema),
  /** Packed as contents.ts describes. */
  contents: z.string(),
  largest: z.array(sizedFileSchema),
  notes: z.array(placedNoteSchema),
  manifests: z.array(manifestSchema),
  brokenManifests: z.array(reasonSchema),
  unread: z.array(reasonSchema),
  lost: z.array(reasonSchema),
})

export type Summary = z.infer<typeof summarySchema>
export type Row = z.infer<typeof rowSchema>
export type SizedFile = z.infer<typeof sizedFileSchema>
export type PlacedNote = z.infer<typeof placedNoteSchema>
export type ManifestPlace = z.infer<typeof manifestSchema>
export type ReasonPlace = z.infer<typeof reasonSchema>

export function noCounts(): Counts {
  return Object.fromEntries(countKeys.map((key) => [key, 0])) as Counts
}

export const emptySummary: Summary = {
  counts: noCounts(),
  hasOwnFolder: false,
  rows: {},
  contents: noContents,
  largest: [],
  notes: [],
  manifests: [],
  brokenManifests: [],
  unread: [],
  lost: [],
}

export function mergeSummaries(a: Summary, b: Summary): Summary {
  return {
    counts: mergeCounts(a.counts, b.counts),
    hasOwnFolder: a.hasOwnFolder || b.hasOwnFolder,
    rows: mergeRows(a.rows, b.rows),
    contents: mergeContents(a.contents, b.contents),
    largest: firstOf(largestMax, compareSizes, a.largest, b.largest),
    notes: firstOf(notesMax, compareNotes, a.notes, b.notes),
    manifests: firstOf(listMax, comparePlaces, a.manifests, b.manifests),
    brokenManifests: firstOf(listMax, comparePlaces, a.brokenManifests, b.brokenManifests),
    unread: firstOf(listMax, comparePlaces, a.unread, b.unread),
    lost: firstOf(listMax, comparePlaces, a.lost, b.lost),
  }
}

function mergeCounts(a: Counts, b: Counts): Counts {
  return Object.fromEntries(countKeys.map((key) => [key, a[key] + b[key]])) as Counts
}

function mergeRows(a: Summary['rows'], b: Summary['rows']): Summary['rows'] {
  const rows = { ...a }
  for (const [name, row] of Object.entries(b)) {
    const other = rows[name] ?? { files: 0, bytes: 0, lines: 0 }
    rows[name] = { files: other.files + row.files, bytes: other.bytes + row.bytes, lines: other.lines + row.lines }
  }
  return rows
}

/** Merges lists that were cut to their first items. In a total order, the first items of all lists are the first items of the whole. */
function firstOf<Item>(max: number, compare: (a: Item, b: Item) => number, a: Item[], b: Item[]): Item[] {
  return [...a, ...b].sort(compare).slice(0, max)
}

interface Placed {
  readonly path: PathText
}

export function compareSizes(a: SizedFile, b: SizedFile): number {
  return b.bytes - a.bytes || comparePlaces(a, b)
}

/** Notes in files that others wrote come last, because people look for their own. */
export function compareNotes(a: PlacedNote, b: PlacedNote): number {
  const [left, right] = [decodePath(a.path), decodePath(b.path)]
  const order = Number(isVendored(left)) - Number(isVendored(right))
  return order || comparePaths(left, right) || a.line - b.line || compareJson(a, b)
}

export function comparePlaces(a: Placed, b: Placed): number {
  return comparePaths(decodePath(a.path), decodePath(b.path)) || compareJson(a, b)
}

/** Decides only between long paths that look alike because they were cut. */
function compareJson(a: unknown, b: unknown): number {
  const [left, right] = [JSON.stringify(a), JSON.stringify(b)]
  return left === right ? 0 : left < right ? -1 : 1
}
