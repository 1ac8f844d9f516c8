/**
 * Duty: stream every entry of a part once, without following links, and with only folder names in memory.
 * SURVEY-WALK-1 A folder that cannot be listed gives an entry `unreadable`. It is never an error of the walk.
 * SURVEY-WALK-2 The folder of the part is not among the entries. Every folder below it is, before the entries in it.
 */
import { FolderChain } from './chain.ts'
import type { OpenFolder, Sort } from './folder.ts'
import { isOwnFolder, membership, type Part } from './part.ts'
import { type BytePath, decodePath, joinPath } from './path.ts'
import { reasonOf } from './reason.ts'

export type Entry =
  /** `within` stays open until the next entry is asked for. */
  | {
      readonly kind: 'entry'
      readonly sort: Sort
      readonly path: BytePath
      readonly name: BytePath
      readonly within: OpenFolder
    }
  | { readonly kind: 'unreadable'; readonly path: BytePath; readonly reason: string }
  | { readonly kind: 'leftOut'; readonly path: BytePath }

/** Called again and again. Throws when the work must stop. */
export type Checkpoint = () => void

export function* walkPart(top: OpenFolder, part: Part, checkpoint: Checkpoint): Generator<Entry, undefined> {
  const start = decodePath(part.folder)
  const belongs = membership(part)
  const chain = new FolderChain(top)
  // Depth first, so that the next folder is near the last one and the chain of open folders can be reused.
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
        // Errors of the consumer do not pass here. Errors of the checkpoint have no code and are thrown on.
        yield { kind: 'unreadable', path, reason: reasonOf(error) }
      }
    }
  } finally {
    chain.close()
  }
  return undefined
}
