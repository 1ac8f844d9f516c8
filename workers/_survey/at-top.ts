/**
 * Duty: opens the surveyed folder for one piece of work, by its real path, and closes it again. All of it waits for the disk: call it
 * in a thread only.
 */
import { TransientError } from 'troupe'
import { OpenFolder } from './folder.ts'
import { decodePath, type PathText } from './path.ts'
import { isExhaustion, reasonOf } from './reason.ts'

export type Answer<Value> =
  | { readonly kind: 'found'; readonly value: Value }
  /** The surveyed folder itself could not be opened. */
  | { readonly kind: 'unopened'; readonly reason: string }

/** Throws a TransientError when the machine ran out of something: that is nobody's fault, and is tried again. */
export function atTop<Value>(path: PathText, work: (top: OpenFolder) => Value): Answer<Value> {
  try {
    return openedAt(path, work)
  } catch (error) {
    if (!isExhaustion(error)) throw error
    const message = error instanceof Error ? error.message : String(error)
    throw new TransientError(`this machine ran out of something while a folder was read: ${message}`, { cause: error })
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
