/**
 * Duty: open folders and files without ever following a link, so that nothing outside the surveyed folder is read, even if a folder is replaced by
 * a link between the listing and the opening.
 *
 * Node has no openat(2). On Linux `/proc/self/fd/<n>/<name>` does the same: the kernel starts at the folder that is open as <n>, wherever it is by
 * now, and O_NOFOLLOW refuses a link as the last name. A path is walked name by name in this way. On other systems, and without /proc, paths are
 * used, with O_NOFOLLOW for the last name. After each opening the folder's path is checked: it must still lead to the folder that was opened;
 * otherwise nothing is read. There, an attacker who replaces folders at the right moment could make this code open a file outside, but it is closed
 * unread.
 *
 * FOLDER-1 No open call follows a link below the top folder.
 * FOLDER-2 No open call blocks. A FIFO or device that took the place of a file is opened without blocking and closed unread.
 *
 * All calls are synchronous: they are made in threads (see at-top.ts).
 */

import type { BigIntStats, Stats } from 'node:fs'
import { closeSync, constants, type Dirent, existsSync, fstatSync, lstatSync, opendirSync, openSync } from 'node:fs'
import { type BytePath, fromBytes, joinPath, toBytes } from './path.ts'

// Windows has only the first flag. There, creating a link needs rights that few users have.
const flags: Readonly<Record<string, number | undefined>> = { ...constants }
const flag = (name: string) => flags[name] ?? 0
const folderFlags = constants.O_RDONLY | flag('O_DIRECTORY') | flag('O_NOFOLLOW') | flag('O_NONBLOCK')
const fileFlags = constants.O_RDONLY | flag('O_NOFOLLOW') | flag('O_NONBLOCK') | flag('O_NOCTTY')

/** How many entries one call to the system reads. */
const entriesPerRead = 512

export type Sort = 'file' | 'folder' | 'link' | 'other'

export interface Listed {
  readonly name: BytePath
  readonly sort: Sort
}

/** How entries of an open folder are opened: through its descriptor, or by its path with a check. */
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

  /** Opens the top folder by its real path, which contains no links. */
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

  /** Opens a file in this folder for reading. The caller closes the descriptor. What is opened may turn out not to be a file. */
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

  /** Streams the entries of this folder, in the order of the file system. */
  *list(): Generator<Listed> {
    const path = this.#access === 'descriptor' ? `/proc/self/fd/${this.#descriptor}` : this.#path
    // The type allows only text here, but names are bytes.
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

  /** If paths are used: throws unless the path still leads to the folder that was opened. */
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
