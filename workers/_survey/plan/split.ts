/**
 * Duty: split a part by weight. Pure.
 * The largest sub-folders become parts of their own. The rest of the folder becomes one more part, or several shares if it holds very many entries.
 * It keeps PART-1 of part.ts.
 */

import type { Part } from '../tree/part.ts'
import { comparePaths, decodePath, encodePath, joinPath } from '../tree/path.ts'
import type { Level, WeighedFolder } from './estimate.ts'

/** A sub-folder is a part of its own if it holds at least this much of what a part should hold. */
const ownPartRatio = 0.5
/** Every share lists the whole folder in order to find its own entries. All shares together list at most this many entries for each one they read. */
const listingsPerEntry = 4

export function weightOf(level: Level): number {
  return level.others + level.folders.reduce((sum, folder) => sum + folder.weight, 0)
}

export interface Split {
  readonly parts: readonly Part[]
  /** How many sub-folders became parts. */
  readonly named: number
}

/** Returns 1 to `partsMax` parts of about `target` entries. An empty folder is one part. */
export function splitPart(part: Part, level: Level, partsMax: number, target: number): Split {
  const weight = weightOf(level)
  const named = level.folders
    .filter((folder) => folder.weight >= target * ownPartRatio)
    .sort((a, b) => b.weight - a.weight || comparePaths(a.name, b.name))
    .slice(0, partsMax)
  let restWeight = weight - named.reduce((sum, folder) => sum + folder.weight, 0)
  // The rest needs a reader too.
  if (restWeight > 0 && named.length === partsMax) restWeight += named.pop()?.weight ?? 0
  const parts = named.map((folder) => subFolder(part, folder))
  if (restWeight > 0 || parts.length === 0) {
    // If the part is a share, its folder has more entries than the part.
    const entries = (level.others + level.folders.length) * (part.share?.of ?? 1)
    const worthwhile = Math.floor((listingsPerEntry * restWeight) / Math.max(1, entries))
    const shares = Math.min(partsMax - named.length, Math.ceil(restWeight / target), worthwhile)
    parts.push(...splitRest(part, named, restWeight, shares))
  }
  return { parts, named: named.length }
}

function subFolder(part: Part, folder: WeighedFolder): Part {
  const path = encodePath(joinPath(decodePath(part.folder), folder.name))
  return { top: part.top, folder: path, share: null, except: [], weight: folder.weight, allowance: 1 }
}

function splitRest(part: Part, named: readonly WeighedFolder[], weight: number, shares: number): Part[] {
  const except = [...part.except, ...named.map((folder) => encodePath(folder.name))]
  const rest: Part = { ...part, except, weight, allowance: 1 }
  if (shares < 2) return [rest]
  // A share of a share: a hash that is `index` modulo `of` is one of these modulo `of * shares`.
  const { index, of } = part.share ?? { index: 0, of: 1 }
  return Array.from({ length: shares }, (_, at) => ({
    ...rest,
    share: { index: index + of * at, of: of * shares },
    weight: weight / shares,
  }))
}

/** Divides the workers of the allowance among the parts: one each, and the others by weight. */
export function shareOut(parts: readonly Part[], allowance: number): Part[] {
  const weight = parts.reduce((sum, part) => sum + part.weight, 0)
  const extra = allowance - parts.length
  return parts.map((part) => {
    const share = weight === 0 ? 0 : Math.floor((extra * part.weight) / weight)
    return { ...part, allowance: 1 + share }
  })
}
