/**
 * Duty: open a file or a folder inside a folder without following links, so that it lies inside even if somebody exchanges folders for links
 * at that moment.
 * INSIDE-1 On Linux the path is opened name by name, each from the descriptor of the folder before (`/proc/self/fd`). No name may be a link.
 * INSIDE-2 Elsewhere Node has no such way. There the path is opened as a whole, and what was opened is compared with what the path leads to
 *         afterwards. Somebody who exchanges folders twice at the right moments is not noticed.
 * INSIDE-3 A file is a regular one, and opening it never waits: not for the other end of a pipe, and not for a device.
 */
import { constants, existsSync } from 'node:fs'
import { type FileHandle, open, realpath, stat } from 'node:fs/promises'
import { join } from 'node:path'

// A flag that a system does not know is undefined, which counts as 0 here.
const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK } = constants
const folderFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW
const fileFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK

const hasDescriptorPaths = process.platform === 'linux' && existsSync('/proc/self/fd')

export type Wanted = 'file' | 'folder'

/** A path under which an open folder can be listed, whatever stands at its name by now. */
export function pathOfOpen(folder: FileHandle, path: string): string {
  return hasDescriptorPaths ? `/proc/self/fd/${folder.fd}` : path
}

/**
 * `names`: the path from the root, without `.` and `..`. Rejects with an error of the system, or with `not_wanted` for another sort of file.
 * `isByNames`: true opens name by name (INSIDE-1), false the path as a whole (INSIDE-2).
 */
export async function openInside(
  root: string,
  names: readonly string[],
  wanted: Wanted,
  isByNames = hasDescriptorPaths,
): Promise<FileHandle> {
  const found = isByNames ? await openByNames(root, names, wanted) : await openWhole(root, names, wanted)
  try {
    const facts = await found.stat()
    if (wanted === 'file' ? facts.isFile() : facts.isDirectory()) return found
    throw Object.assign(new Error(`it is no ${wanted === 'file' ? 'regular file' : 'folder'}`), { code: 'not_wanted' })
  } catch (error) {
    await found.close()
    throw error
  }
}

async function openByNames(root: string, names: readonly string[], wanted: Wanted): Promise<FileHandle> {
  let at = await open(root, folderFlags)
  for (const [index, name] of names.entries()) {
    const isLast = index === names.length - 1
    const above = at
    try {
      at = await open(`/proc/self/fd/${above.fd}/${name}`, isLast && wanted === 'file' ? fileFlags : folderFlags)
    } finally {
      await above.close()
    }
  }
  return at
}

async function openWhole(root: string, names: readonly string[], wanted: Wanted): Promise<FileHandle> {
  const path = join(root, ...names)
  const found = await open(path, wanted === 'file' ? fileFlags : folderFlags)
  try {
    const [opened, there, real] = await Promise.all([found.stat(), stat(path), realpath(path)])
    if (opened.ino === there.ino && opened.dev === there.dev && real === path) return found
    throw Object.assign(new Error('it was replaced while it was opened'), { code: 'ELOOP' })
  } catch (error) {
    await found.close()
    throw error
  }
}
