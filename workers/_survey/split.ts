/**
 * Duty: splits a part by weight. Pure.
 * The biggest sub-folders become parts of their own; what is left of the folder is one part more, or several shares if it holds
 * very many entries.
 * R1 The parts are disjoint and together are the part that was split (see part.ts).
 */
import type { Level, WeighedFolder } from './estimate.ts'
import type { Part } from './part.ts'
import { comparePaths, decodePath, encodePath, joinPath } from './path.ts'

/** A sub-folder is a part of its own if it holds at least this much of what a part should hold. */
const ownPartRatio = 0.5
/** Every share lists the whole folder to find its own entries: all shares together list no more than so many for each they read. */
const listingsPerEntry = 4

export function weightOf(level: Level): number {
  return level.others + level.folders.reduce((sum, folder) => sum + folder.weight, 0)
}

export interface Split {
  readonly parts: readonly Part[]
  /** How many sub-folders became parts. */
  readonly named: number
}

/** At least one part and at most `partsMax`, of about `target` entries; of an empty folder it is the folder itself. */
export function splitPart(part: Part, level: Level, partsMax: number, target: number): Split {
  const weight = weightOf(level)
  const named = level.folders
    .filter((folder) => folder.weight >= target * ownPartRatio)
    .sort((a, b) => b.weight - a.weight || comparePaths(a.name, b.name))
    .slice(0, partsMax)
  let restWeight = weight - named.reduce((sum, folder) => sum + folder.weight, 0)
  // The rest needs a reader, too.
  if (restWeight > 0 && named.length === partsMax) restWeight += named.pop()?.weight ?? 0
  const parts = named.map((folder) => subFolder(part, folder))
  if (restWeight > 0 || parts.length === 0) {
    // The folder has more entries than its share that is split here.
    const entries = (level.others + level.folders.length) * (part.share?.of ?? 1)
    const worthwhile = Math.floor((listingsPerEntry * restWeight) / Math.max(1, entries))
    const poolLoads = Math.min(partsMax - named.length, Math.ceil(restWeight / target), worthwhile)
    parts.push(...splitRest(part, named, restWeight, poolLoads))
  }
  return { parts, named: named.length }
}

function subFolder(part: Part, folder: WeighedFolder): Part {
  const path = encodePath(joinPath(decodePath(part.folder), folder.name))
  return { top: part.top, folder: path, share: null, except: [], weight: folder.weight, allowance: 1 }
}

function splitRest(part: Part, named: readonly WeighedFolder[], weight: number, poolLoads: number): Part[] {
  const except = [...part.except, ...named.map((folder) => encodePath(folder.name))]
  const rest: Part = { ...part, except, weight, allowance: 1 }
  if (poolLoads < 2) return [rest]
  // A share of a share: what is `index` modulo `of` is one of these modulo `of * shares`.
  const { index, of } = part.share ?? { index: 0, of: 1 }
  return Array.from({ length: poolLoads }, (_, at) => ({
    ...rest,
    share: { index: index + of * at, of: of * poolLoads },
    weight: weight / poolLoads,
  }))
}

/** Gives the workers of the allowance to the parts: one each, and what is left over by weight. */
export function shareOut(parts: readonly Part[], allowance: number): Part[] {
  const weight = parts.reduce((sum, part) => sum + part.weight, 0)
  const extra = allowance - parts.length
  return parts.map((part) => {
    const share = weight === 0 ? 0 : Math.floor((extra * part.weight) / weight)
    return { ...part, allowance: 1 + share }
  })
}
