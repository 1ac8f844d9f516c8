/**
 * Duty: a part of the surveyed folder, which one reader is responsible for.
 * A part is a folder with all that is below it, without the sub-folders named in `except` (other readers have them). A folder
 * with very many entries is shared out: entry by entry, by a hash of the name, so that the message stays small and every
 * reader knows its share whatever the order of the listing.
 * R1 The parts a part is split into are disjoint and together are that part.
 */
import { z } from 'zod'
import { type BytePath, decodePath, namesOf, type PathText, pathTextSchema, showPath, topPath } from './path.ts'

export const partSchema = z.object({
  /** Real, absolute path of the surveyed folder. */
  top: pathTextSchema,
  /** Below `top`. */
  folder: pathTextSchema,
  /** Entries of the folder whose hash is `index` modulo `of`; null: all. */
  share: z.object({ index: z.int().min(0), of: z.int().min(1) }).nullable(),
  except: z.array(pathTextSchema),
  /** About how many entries it holds. */
  weight: z.number(),
  /** Workers that may read it, its reader included. */
  allowance: z.int().min(1),
})

export type Part = z.infer<typeof partSchema>

/** The folder in which troupe keeps its own data; left out where it lies directly in the surveyed folder. */
export const ownFolder = '.troupe' as BytePath

export function wholePart(top: PathText, allowance: number): Part {
  return { top, folder: '', share: null, except: [], weight: 0, allowance }
}

/** Says whether an entry of the part's folder belongs to the part. */
export function membership(part: Part): (name: BytePath) => boolean {
  const except = new Set(part.except.map(decodePath))
  const { share } = part
  return (name) => !except.has(name) && (share === null || hashName(name) % share.of === share.index)
}

/** Is this entry troupe's own folder? */
export function isOwnFolder(folder: BytePath, name: BytePath, sort: string): boolean {
  return folder === topPath && name === ownFolder && sort === 'folder'
}

const nameCharsMax = 40

/** For people; at most 64 bytes, as names of workers are. */
export function namePart(part: Part): string {
  const folder = decodePath(part.folder)
  const last = namesOf(folder).at(-1)
  let name = last === undefined ? '.' : showPath(last).replace(/[^\x20-\x7e]/gu, '?')
  if (name.length > nameCharsMax) name = `${name.slice(0, nameCharsMax - 3)}...`
  if (part.share !== null) return `${name} ${part.share.index + 1}/${part.share.of}`
  return part.except.length > 0 ? `${name} (rest)` : name
}

/** For the report: which part was lost. */
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
