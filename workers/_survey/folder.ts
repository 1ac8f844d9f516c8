/**
 * Duty: opens folders and files so that no link is ever followed and nothing outside the surveyed folder is read, even if
 * somebody swaps a folder for a link between the listing and the opening.
 *
 * Node has no openat(2). On Linux `/proc/self/fd/<n>/<name>` does the same: the kernel jumps to the very folder that is open as
 * <n>, wherever it is by now, and O_NOFOLLOW refuses a link as the last name. A path is walked name by name in this way.
 * Elsewhere (and without /proc) paths are used instead, with O_NOFOLLOW for the last name, and after each opening it is checked
 * that the folder's path still leads to the folder that was opened; if not, nothing is read. There a file outside could be
 * opened for a moment by somebody who swaps folders just in time, and be closed unread.
 *
 * F1 No open call follows a link below the top folder.
 * F2 No open call waits: FIFOs and devices are opened, if they were swapped in, without blocking, and closed unread.
 *
 * All calls are synchronous: they are made in threads (see at-top.ts).
 */

import type { BigIntStats, Stats } from 'node:fs'
import { closeSync, constants, type Dirent, existsSync, fstatSync, lstatSync, opendirSync, openSync } from 'node:fs'
import { type BytePath, fromBytes, joinPath, toBytes } from './path.ts'

// Windows lacks all but the first, and there a link needs rights that few have.
const flags: Readonly<Record<string, number | undefined>> = { ...constants }
const flag = (name: string) => flags[name] ?? 0
const folderFlags = constants.O_RDONLY | flag('O_DIRECTORY') | flag('O_NOFOLLOW') | flag('O_NONBLOCK')
const fileFlags = constants.O_RDONLY | flag('O_NOFOLLOW') | flag('O_NONBLOCK') | flag('O_NOCTTY')

/** Entries read by one call to the system. */
const entriesPerRead = 512

export type Sort = 'file' | 'folder' | 'link' | 'other'

export interface Listed {
  readonly name: BytePath
  readonly sort: Sort
}

/** How entries of an open folder are reached: through its descriptor, or by its path with a check. */
export type Access = 'descriptor' | 'path'

export const bestAccess: Access = process.platform === 'linux' && existsSync('/proc/self/fd') ? 'descriptor' : 'path'

/** A folder that is open until `close()`. */
export class OpenFolder {
  readonly #descriptor: number
  readonly #path: BytePath
  readonly #access: Access
  readonly #identity: string

  private constructor(reach: string, path: BytePath, access: Access) {
    this.#descriptor = openSync(toBytes(reach), folderFlags)
    this.#path = path
    this.#access = access
    this.#identity = access === 'path' ? identityOf(fstatSync(this.#descriptor, { bigint: true })) : ''
  }

  /** Opens the top folder, given by a real path (no links in it). */
  static openTop(realPath: BytePath, access: Access = bestAccess): OpenFolder {
    return new OpenFolder(realPath, realPath, access)
  }

  close(): void {
    closeSync(this.#descriptor)
  }

  openFolder(name: BytePath): OpenFolder {
    const opened = new OpenFolder(this.#reach(name), joinPath(this.#path, name), this.#access)
    try {
      this.#verify()
      return opened
    } catch (error) {
      opened.close()
      throw error
    }
  }

  /** Opens a file in this folder for reading; the caller closes the descriptor. It may turn out to be no file. */
  openFile(name: BytePath): number {
    const descriptor = openSync(toBytes(this.#reach(name)), fileFlags)
    try {
      this.#verify()
      return descriptor
    } catch (error) {
      closeSync(descriptor)
      throw error
    }
  }

  lstat(name: BytePath): Stats {
    const stats = lstatSync(toBytes(this.#reach(name)))
    this.#verify()
    return stats
  }

  /** Streams what is in this folder, in the order of the file system. */
  *list(): Generator<Listed> {
    const path = this.#access === 'descriptor' ? `/proc/self/fd/${this.#descriptor}` : this.#path
    // The types know only text here, but names are bytes.
    const options = { encoding: 'buffer' as BufferEncoding, bufferSize: entriesPerRead }
    const listing = opendirSync(toBytes(path), options)
    try {
      this.#verify()
      for (let entry = listing.readSync(); entry !== null; entry = listing.readSync()) {
        const { name } = entry as unknown as Dirent<Buffer>
        yield { name: fromBytes(name), sort: sortOf(entry) }
      }
    } finally {
      listing.closeSync()
    }
  }

  #reach(name: BytePath): string {
    return this.#access === 'descriptor' ? `/proc/self/fd/${this.#descriptor}/${name}` : joinPath(this.#path, name)
  }

  /** Where paths are used: does the path still lead to the folder that was opened? */
  #verify(): void {
    if (this.#access === 'descriptor') return
    if (identityOf(lstatSync(toBytes(this.#path), { bigint: true })) === this.#identity) return
    throw Object.assign(new Error('the folder was replaced while it was surveyed'), { code: 'ENOTDIR' })
  }
}

export function sortOf(entry: { isFile(): boolean; isDirectory(): boolean; isSymbolicLink(): boolean }): Sort {
  if (entry.isFile()) return 'file'
  if (entry.isDirectory()) return 'folder'
  return entry.isSymbolicLink() ? 'link' : 'other'
}

function identityOf(stats: BigIntStats): string {
  return `${stats.dev}:${stats.ino}`
}
