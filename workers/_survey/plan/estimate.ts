/**
 * Duty: estimate how many entries sub-folders hold, so that parts of about the same size can be made. A wrong estimate makes parts uneven, but
 * loses no entry.
 * ESTIMATE-1 However much a folder holds, an estimate lists only about `entriesMax` entries below its sub-folders, and about `entriesMin` below
 *            each of at most `foldersMax` of them.
 */
import { FolderChain } from '../tree/chain.ts'
import type { OpenFolder } from '../tree/folder.ts'
import { isOwnFolder, membership, type Part } from '../tree/part.ts'
import { type BytePath, decodePath, joinPath } from '../tree/path.ts'
import { throwForeign } from '../tree/reason.ts'
import type { Checkpoint } from '../tree/walk.ts'

const entriesMax = 20_000
const entriesMin = 50
/** How many entries a sub-folder counts that was not listed. */
const unseenWeight = 8
const foldersMax = 2_000

export interface Level {
  /** Entries that are not folders. */
  readonly others: number
  readonly folders: readonly WeighedFolder[]
  readonly hasOwnFolder: boolean
}

export interface WeighedFolder {
  readonly name: BytePath
  /** About how many entries it holds, itself included. */
  readonly weight: number
}

/** Lists the folder of the part and estimates its sub-folders. Throws if the folder itself cannot be listed. */
export function weighLevel(top: OpenFolder, part: Part, checkpoint: Checkpoint): Level {
  const path = decodePath(part.folder)
  const belongs = membership(part)
  const names: BytePath[] = []
  let others = 0
  let hasOwnFolder = false
  const chain = new FolderChain(top)
  try {
    for (const { name, sort } of chain.reach(path).list()) {
      checkpoint()
      if (!belongs(name)) continue
      if (isOwnFolder(path, name, sort)) hasOwnFolder = true
      else if (sort === 'folder') names.push(name)
      else others++
    }
    const entriesEach = Math.max(entriesMin, Math.floor(entriesMax / Math.max(1, names.length)))
    const folders = names.map((name, index) => {
      const weight = index < foldersMax ? weigh(chain, joinPath(path, name), entriesEach, checkpoint) : unseenWeight
      return { name, weight }
    })
    return { others, folders, hasOwnFolder }
  } finally {
    chain.close()
  }
}

/** Counts breadth first, up to a number of entries. The rest lies below folders whose number is known. */
function weigh(chain: FolderChain, path: BytePath, entriesEach: number, checkpoint: Checkpoint): number {
  const pending = [path]
  let seen = 0
  let opened = 0
  for (const next of pending) {
    if (seen >= entriesEach) break
    opened++
    try {
      for (const { name, sort } of chain.reach(next).list()) {
        checkpoint()
        seen++
        if (sort === 'folder') pending.push(joinPath(next, name))
        if (seen >= entriesEach) break
      }
    } catch (error) {
      // The reader of this folder will report the error.
      throwForeign(error)
    }
  }
  return 1 + seen + unseenWeight * (pending.length - opened)
}
