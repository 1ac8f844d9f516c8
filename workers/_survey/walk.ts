/**
 * Duty: streams every entry of a part, each once, without following links and without holding more than folder names in memory.
 * W1 What cannot be listed is an entry of its own (`unreadable`), never an error of the walk.
 * W2 The part's folder itself is not among the entries; every folder below it is, before what it holds.
 */
import { FolderChain } from './chain.ts'
import type { OpenFolder, Sort } from './folder.ts'
import { isOwnFolder, membership, type Part } from './part.ts'
import { type BytePath, decodePath, joinPath } from './path.ts'
import { reasonOf } from './reason.ts'

export type Entry =
  /** `within` is open until the next entry is asked for. */
  | {
      readonly kind: 'entry'
      readonly sort: Sort
      readonly path: BytePath
      readonly name: BytePath
      readonly within: OpenFolder
    }
  | { readonly kind: 'unreadable'; readonly path: BytePath; readonly reason: string }
  | { readonly kind: 'leftOut'; readonly path: BytePath }

/** Called again and again; throws when the work is to be stopped. */
export type Checkpoint = () => void

export function* walkPart(top: OpenFolder, part: Part, checkpoint: Checkpoint): Generator<Entry, undefined> {
  const start = decodePath(part.folder)
  const belongs = membership(part)
  const chain = new FolderChain(top)
  // Depth first, so that the next folder is near the last one and the chain can be used again.
  const pending: BytePath[] = [start]
  try {
    for (let path = pending.pop(); path !== undefined; path = pending.pop()) {
      try {
        const within = chain.reach(path)
        for (const { name, sort } of within.list()) {
          checkpoint()
          if (path === start && !belongs(name)) continue
          const entryPath = joinPath(path, name)
          if (isOwnFolder(path, name, sort)) yield { kind: 'leftOut', path: entryPath }
          else {
            if (sort === 'folder') pending.push(entryPath)
            yield { kind: 'entry', sort, path: entryPath, name, within }
          }
        }
      } catch (error) {
        // What the consumer throws does not come by here; what the checkpoint throws has no code and goes on.
        yield { kind: 'unreadable', path, reason: reasonOf(error) }
      }
    }
  } finally {
    chain.close()
  }
  return undefined
}
