/**
 * Duty: open the surveyed folder by its real path for one piece of work, and close it again. All calls wait for the disk, so call them only in a
 * thread.
 */
import { TransientError } from 'troupe'
import { OpenFolder } from './folder.ts'
import { decodePath, type PathText } from './path.ts'
import { isExhaustion, reasonOf } from './reason.ts'

export type Answer<Value> =
  | { readonly kind: 'found'; readonly value: Value }
  /** The surveyed folder itself could not be opened. */
  | { readonly kind: 'unopened'; readonly reason: string }

/** Throws a TransientError if the machine ran out of a resource, because a later attempt may succeed. */
export function atTop<Value>(path: PathText, work: (top: OpenFolder) => Value): Answer<Value> {
  try {
    return openedAt(path, work)
  } catch (error) {
    if (!isExhaustion(error)) throw error
    const message = error instanceof Error ? error.message : String(error)
    throw new TransientError(`this machine ran out of a resource while a folder was read: ${message}`, { cause: error })
  }
}

function openedAt<Value>(path: PathText, work: (top: OpenFolder) => Value): Answer<Value> {
  let top: OpenFolder
  try {
    top = OpenFolder.openTop(decodePath(path))
  } catch (error) {
    return { kind: 'unopened', reason: reasonOf(error) }
  }
  try {
    return { kind: 'found', value: work(top) }
  } finally {
    top.close()
  }
}
