/**
 * Duty: a part of the surveyed folder, which one reader measures.
 * A part is a folder with everything below it, without the sub-folders in `except`, which other readers measure. The entries of a very large folder
 * are divided by a hash of their names. The message then stays small, and every reader knows its share in any order of the listing.
 * PART-1 The parts into which a part is split are disjoint, and together they are that part.
 */
import { z } from 'zod'
import { type BytePath, decodePath, namesOf, type PathText, pathTextSchema, showPath, topPath } from './path.ts'

export const partSchema = z.object({
  /** Real, absolute path of the surveyed folder. */
  top: pathTextSchema,
  /** Path below `top`. */
  folder: pathTextSchema,
  /** The entries of the folder whose hash is `index` modulo `of`. Null: all entries. */
  share: z.object({ index: z.int().min(0), of: z.int().min(1) }).nullable(),
  except: z.array(pathTextSchema),
  /** An estimate of how many entries it holds. */
  weight: z.number(),
  /** How many workers may read it, including its reader. */
  allowance: z.int().min(1),
})

export type Part = z.infer<typeof partSchema>

/** The folder in which troupe keeps its own data. It is left out if it lies directly in the surveyed folder. */
export const ownFolder = '.troupe' as BytePath

export function wholePart(top: PathText, allowance: number): Part {
  return { top, folder: '', share: null, except: [], weight: 0, allowance }
}

/** Returns a function that says whether an entry of the part's folder belongs to the part. */
export function membership(part: Part): (name: BytePath) => boolean {
  const except = new Set(part.except.map(decodePath))
  const { share } = part
  return (name) => !except.has(name) && (share === null || hashName(name) % share.of === share.index)
}

/** True for troupe's own folder. */
export function isOwnFolder(folder: BytePath, name: BytePath, sort: string): boolean {
  return folder === topPath && name === ownFolder && sort === 'folder'
}

const nameCharsMax = 40

/** A name for people. It has at most 64 bytes, like the names of workers. */
export function namePart(part: Part): string {
  const folder = decodePath(part.folder)
  const last = namesOf(folder).at(-1)
  let name = last === undefined ? '.' : showPath(last).replace(/[^\x20-\x7e]/gu, '?')
  if (name.length > nameCharsMax) name = `${name.slice(0, nameCharsMax - 3)}...`
  if (part.share !== null) return `${name} ${part.share.index + 1}/${part.share.of}`
  return part.except.length > 0 ? `${name} (rest)` : name
}

/** Names a lost part in the report. */
export function describePart(part: Part): string {
  if (part.share !== null) return `share ${part.share.index + 1} of ${part.share.of} of the folder`
  return part.except.length > 0 ? `the folder without its ${part.except.length} biggest sub-folders` : 'the folder'
}

/** FNV-1a, 32 bits. */
function hashName(name: string): number {
  let hash = 0x811c9dc5
  for (let at = 0; at < name.length; at++) hash = Math.imul(hash ^ name.charCodeAt(at), 0x01000193)
  return hash >>> 0
}
