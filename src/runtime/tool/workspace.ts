/**
 * Duty: give a worker's tools access to one folder only. Each path is resolved to its real place before it is judged.
 * WORKSPACE-1 Every path that is returned lies inside the real folder.
 * WORKSPACE-2 An error repeats the path that was asked for. It never says where the path leads or what exists there.
 * WORKSPACE-3 `open`, `read` and `list` open nothing outside, even if others put links into the folder at that moment (folder-chain.ts). A path
 *             that `resolve` returned was inside when it was checked; no more.
 */
import type { Dirent } from 'node:fs'
import { type FileHandle, lstat, readdir, realpath, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { FolderEntry, Workspace } from '../../core/definition/tool/define-tool.ts'
import { InputError } from '../../core/errors.ts'
import { policy } from '../../core/policy.ts'
import { isSystemFolder } from '../../core/worker/permissions.ts'
import { openInside, pathOfOpen, type Wanted } from './folder-chain.ts'
import { inFolderTime } from './folder-time.ts'

const previewCharsMax = 200
/** No system opens a longer path. The limit also bounds the search for a path that does not exist, which goes folder by folder. */
const pathCharsMax = 4_096
const readBytesMax = 16_777_216
const pieceBytes = 65_536
const separators = sep === '\\' ? /[\\/]/ : /\//

/** `bounds`: folders in which `folder` must lie now, by their real paths. Throws an InputError if `folder` is not a folder or lies outside. */
export function openWorkspace(
  folder: string,
  bounds: readonly string[] = [],
  mostMs: number = policy.folderMs,
): Promise<Workspace> {
  const late = `the folder ${preview(folder)} did not open`
  const sharedBy = JSON.stringify(bounds)
  return inFolderTime({ place: folder, sharedBy, late, look: () => open(folder, bounds) }, mostMs)
}

async function open(folder: string, bounds: readonly string[]): Promise<Workspace> {
  let root: string
  try {
    root = await realpath(folder)
    if (!(await stat(root)).isDirectory()) throw Object.assign(new Error('not a folder'), { code: 'ENOTDIR' })
  } catch (cause) {
    throw new InputError(`the worker's folder ${preview(folder)} cannot be opened (${codeOf(cause)}).`)
  }
  // Checked again here, because the folder may have been replaced by a link since the last check.
  for (const bound of bounds) {
    if (isInside(await realpath(bound).catch(() => bound), root)) continue
    throw new InputError(`the worker's folder ${preview(folder)} leads out of the folder that its permissions name.`)
  }
  if (isSystemFolder(root)) throw new InputError(`the worker's folder ${preview(folder)} belongs to the system.`)
  return new FolderWorkspace(root, resolve(folder))
}

class FolderWorkspace implements Workspace {
  readonly root: string
  /** The path by which the folder was named. Absolute paths may begin with it too. */
  readonly #named: string

  constructor(root: string, named: string) {
    this.root = root
    this.#named = named
    Object.freeze(this)
  }

  open(path: string): Promise<FileHandle> {
    return this.#open(path, 'file')
  }

  async read(path: string, { bytesMax = readBytesMax }: { readonly bytesMax?: number } = {}): Promise<Buffer> {
    const file = await this.#open(path, 'file')
    try {
      const pieces: Buffer[] = []
      for (let length = 0; length <= bytesMax; ) {
        const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(pieceBytes))
        if (bytesRead === 0) return Buffer.concat(pieces)
        pieces.push(buffer.subarray(0, bytesRead))
        length += bytesRead
      }
    } finally {
      await file.close()
    }
    throw new InputError(`${preview(path)} has more than ${bytesMax} bytes: read a part of it with open.`)
  }

  async list(path = '.'): Promise<FolderEntry[]> {
    const folder = await this.#open(path, 'folder')
    try {
      const found = await readdir(pathOfOpen(folder, await this.resolve(path)), { withFileTypes: true })
      return found.map((one) => ({ name: one.name, sort: sortOf(one) })).sort((a, b) => (a.name < b.name ? -1 : 1))
    } finally {
      await folder.close()
    }
  }

  async #open(path: string, wanted: Wanted): Promise<FileHandle> {
    const below = relative(this.root, await this.resolve(path))
    try {
      return await openInside(this.root, below === '' ? [] : below.split(sep), wanted)
    } catch (cause) {
      const code = codeOf(cause)
      const isOther = code === 'not_wanted' || code === 'ENOTDIR' || code === 'ENXIO'
      if (isOther) throw new InputError(`${preview(path)} is no ${wanted === 'file' ? 'regular file' : 'folder'}.`)
      throw new InputError(`${preview(path)} cannot be opened (${code}).`)
    }
  }

  async resolve(path: string): Promise<string> {
    const full = this.#place(path)
    const real = await this.#real(full, path)
    if (real === null) throw new InputError(`${preview(path)} does not exist in the worker's folder.`)
    return real
  }

  async resolveNew(path: string): Promise<string> {
    const full = this.#place(path)
    if (full === this.root)
      throw new InputError(`${preview(path)} is the worker's folder itself: name a file in the folder.`)
    const folder = await this.#real(dirname(full), path)
    const isFolder = folder !== null && (await stat(folder).catch(() => null))?.isDirectory() === true
    if (!isFolder) throw new InputError(`${preview(path)} names a folder that does not exist: create the folder first.`)
    const real = join(folder, basename(full))
    if ((await linkKind(real, path)) === 'link')
      throw new InputError(`${preview(path)} is a link: name a file instead.`)
    return real
  }

  /** The absolute path that a path names, before links are followed. */
  #place(path: unknown): string {
    if (typeof path !== 'string') throw new InputError(`a path must be a text, not ${typeof path}.`)
    if (path.length > pathCharsMax) {
      throw new InputError(`${preview(path)} is too long: a path has at most ${pathCharsMax} characters.`)
    }
    if (path.includes('\0')) throw new InputError(`${preview(path)} holds a NUL character, which no path may hold.`)
    if (path.split(separators).includes('..')) {
      throw new InputError(`${preview(path)} holds "..": write the path from the worker's folder, without "..".`)
    }
    if (!isAbsolute(path)) return resolve(this.root, path)
    for (const base of [this.root, this.#named]) {
      const full = resolve(path)
      if (isInside(base, full)) return join(this.root, full.slice(base.length))
    }
    throw new InputError(`${preview(path)} is outside of the worker's folder.`)
  }

  /** Null if the path does not exist. */
  async #real(full: string, path: string): Promise<string | null> {
    let real: string
    try {
      real = await realpath(full)
    } catch (cause) {
      // If the parent folder leads outside, throw that error, so that nobody learns what exists outside (WORKSPACE-2).
      if (full !== this.root) await this.#real(dirname(full), path)
      if (codeOf(cause) === 'ENOENT') {
        if ((await linkKind(full, path)) === 'link') throw outside(path)
        return null
      }
      throw new InputError(`${preview(path)} cannot be opened (${codeOf(cause)}).`)
    }
    if (!isInside(this.root, real)) throw outside(path)
    if (isSystemFolder(real)) throw new InputError(`${preview(path)} belongs to the system.`)
    return real
  }
}

function sortOf(entry: Dirent): FolderEntry['sort'] {
  if (entry.isFile()) return 'file'
  if (entry.isDirectory()) return 'folder'
  return entry.isSymbolicLink() ? 'link' : 'other'
}

function outside(path: string): InputError {
  return new InputError(`${preview(path)} leads out of the worker's folder.`)
}

async function linkKind(full: string, path: string): Promise<'link' | 'other' | 'none'> {
  try {
    return (await lstat(full)).isSymbolicLink() ? 'link' : 'other'
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return 'none'
    throw new InputError(`${preview(path)} cannot be opened (${codeOf(cause)}).`)
  }
}

function isInside(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep)
}

function codeOf(thrown: unknown): string {
  return (thrown as NodeJS.ErrnoException).code ?? 'unknown error'
}

function preview(path: string): string {
  const text = JSON.stringify(path.slice(0, previewCharsMax + 1))
  return text.length <= previewCharsMax ? text : `${text.slice(0, previewCharsMax)}…"`
}
