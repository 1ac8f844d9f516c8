/**
 * Duty: report groups of identical files. The packed list of contents gives their number. It does not hold the paths of the files, so the files of
 * the most wasteful groups are searched in the folder and compared by the whole SHA-256.
 */
import { type Content, cutDigest, keyOf, unpack } from '../measure/contents.ts'
import { measureFile } from '../measure/measure.ts'
import { Top } from '../summary/top.ts'
import type { OpenFolder } from '../tree/folder.ts'
import { wholePart } from '../tree/part.ts'
import { type BytePath, comparePaths, cutPath, decodePath, encodePath, type PathText } from '../tree/path.ts'
import { throwForeign } from '../tree/reason.ts'
import { type Checkpoint, walkPart } from '../tree/walk.ts'

export const groupsShownMax = 10
const pathsShownMax = 5

export interface CopyTotals {
  readonly groups: number
  /** Files of all groups, without the first one of each group. */
  readonly copies: number
  readonly wastedBytes: number
  /** How many files could be compared. The list of contents is limited. */
  readonly compared: number
  /** The most wasteful groups. */
  readonly worst: readonly Content[]
}

export interface CopyGroup {
  readonly bytes: number
  readonly files: number
  /** The first of them. */
  readonly paths: readonly PathText[]
}

export function totalCopies(contents: string): CopyTotals {
  const totals = { groups: 0, copies: 0, wastedBytes: 0, compared: 0 }
  const worst = new Top<Content>(groupsShownMax, compareWaste)
  for (const content of unpack(contents)) {
    totals.compared += content.files
    if (content.files < 2) continue
    totals.groups++
    totals.copies += content.files - 1
    totals.wastedBytes += wasteOf(content)
    worst.add(content)
  }
  return { ...totals, worst: worst.list() }
}

/** Finds the files of these contents. A file that has vanished since is left out, and so is a group with only one file. */
export function locateCopies(top: OpenFolder, contents: readonly Content[], checkpoint: Checkpoint): CopyGroup[] {
  const sizes = new Set(contents.map((content) => content.size))
  const wanted = new Set(contents.map(keyOf))
  const found = new Map<string, { bytes: number; files: number; paths: Top<BytePath> }>()
  for (const entry of walkPart(top, wholePart('', 1), checkpoint)) {
    if (entry.kind !== 'entry' || entry.sort !== 'file') continue
    const { path, name, within } = entry
    if (!sizes.has(sizeOf(within, name))) continue
    const file = measureFile(within, name, { checkpoint, textBytesMax: 0 })
    if (file.kind !== 'file' || file.sha256 === null) continue
    if (!wanted.has(keyOf({ size: file.bytes, digest: cutDigest(file.sha256) }))) continue
    const group = found.get(file.sha256) ?? { bytes: file.bytes, files: 0, paths: new Top(pathsShownMax, comparePaths) }
    found.set(file.sha256, group)
    group.files++
    group.paths.add(path)
  }
  return [...found.values()]
    .filter((group) => group.files > 1)
    .map(({ bytes, files, paths }) => ({ bytes, files, paths: paths.list().map((path) => encodePath(cutPath(path))) }))
    .sort(compareGroups)
}

/** The size of a file, or -1 if it is unknown; such a file matches no content. */
function sizeOf(within: OpenFolder, name: BytePath): number {
  try {
    return within.lstat(name).size
  } catch (error) {
    throwForeign(error)
    return -1
  }
}

function wasteOf(content: { readonly size: number; readonly files: number }): number {
  return content.size * (content.files - 1)
}

function compareWaste(a: Content, b: Content): number {
  return wasteOf(b) - wasteOf(a) || b.size - a.size || (a.digest < b.digest ? -1 : 1)
}

function compareGroups(a: CopyGroup, b: CopyGroup): number {
  const firstPath = (group: CopyGroup) => decodePath(group.paths[0] ?? '')
  return b.bytes * (b.files - 1) - a.bytes * (a.files - 1) || comparePaths(firstPath(a), firstPath(b))
}
