/**
 * Duty: the folder a worker's tools may touch, as a jail: every path is followed to its real place before it is judged.
 * WS1 What is given out lies inside the real folder. WS2 An error names the path it was asked for, never where it leads or what is
 *     there. WS3 Checked when asked: where others may put links into the folder meanwhile, open with O_NOFOLLOW.
 */
import { lstat, realpath, stat } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, resolve, sep } from 'node:path'
import type { Workspace } from '../../core/definition/define-tool.ts'
import { InputError } from '../../core/errors.ts'

const pathCharsShown = 200
/** No system opens a longer one; and what does not exist is looked for folder by folder. */
const pathCharsMax = 4_096
const separators = sep === '\\' ? /[\\/]/ : /\//

/** `bound` is a folder that it must lie in, by where both really are now. Throws an InputError for what is no folder. */
export async function openWorkspace(folder: string, bound: string | null = null): Promise<Workspace> {
  let root: string
  try {
    root = await realpath(folder)
    if (!(await stat(root)).isDirectory()) throw Object.assign(new Error('not a folder'), { code: 'ENOTDIR' })
  } catch (cause) {
    throw new InputError(`the worker's folder ${shown(folder)} cannot be opened (${codeOf(cause)}).`)
  }
  // Whoever may write there may have put a link in its place since it was last looked at.
  const isBeyond = bound !== null && !isInside(await realpath(bound).catch(() => bound), root)
  if (isBeyond) throw new InputError(`the worker's folder ${shown(folder)} leads out of the one it was granted.`)
  return new FolderWorkspace(root, resolve(folder))
}

class FolderWorkspace implements Workspace {
  readonly root: string
  /** As it was named: absolute paths may begin so, too. */
  readonly #named: string

  constructor(root: string, named: string) {
    this.root = root
    this.#named = named
    Object.freeze(this)
  }

  async resolve(path: string): Promise<string> {
    const full = this.#place(path)
    const real = await this.#real(full, path)
    if (real === null) throw new InputError(`${shown(path)} does not exist in the worker's folder.`)
    return real
  }

  async resolveNew(path: string): Promise<string> {
    const full = this.#place(path)
    if (full === this.root) throw new InputError(`${shown(path)} is the worker's folder itself: name a file in it.`)
    const folder = await this.#real(dirname(full), path)
    const isFolder = folder !== null && (await stat(folder).catch(() => null))?.isDirectory() === true
    if (!isFolder) throw new InputError(`${shown(path)} has no folder to be in: create that first.`)
    const real = join(folder, basename(full))
    if ((await linkKind(real, path)) === 'link') throw new InputError(`${shown(path)} is a link: name a file.`)
    return real
  }

  /** The place in the folder that a path names, before links are followed. */
  #place(path: unknown): string {
    if (typeof path !== 'string') throw new InputError(`a path is text, not ${typeof path}.`)
    if (path.length > pathCharsMax) {
      throw new InputError(`${shown(path)} is too long: a path has at most ${pathCharsMax} characters.`)
    }
    if (path.includes('\0')) throw new InputError(`${shown(path)} holds a NUL character: no path does.`)
    if (path.split(separators).includes('..')) {
      throw new InputError(`${shown(path)} holds "..": give the path from the worker's folder, without it.`)
    }
    if (!isAbsolute(path)) return resolve(this.root, path)
    for (const base of [this.root, this.#named]) {
      const full = resolve(path)
      if (isInside(base, full)) return join(this.root, full.slice(base.length))
    }
    throw new InputError(`${shown(path)} is outside of the worker's folder.`)
  }

  /** Null for what does not exist. */
  async #real(full: string, path: string): Promise<string | null> {
    let real: string
    try {
      real = await realpath(full)
    } catch (cause) {
      // Whether something outside exists is not told either.
      if (full !== this.root) await this.#real(dirname(full), path)
      if (codeOf(cause) === 'ENOENT') {
        if ((await linkKind(full, path)) === 'link') throw outside(path)
        return null
      }
      throw new InputError(`${shown(path)} cannot be opened (${codeOf(cause)}).`)
    }
    if (!isInside(this.root, real)) throw outside(path)
    return real
  }
}

function outside(path: string): InputError {
  return new InputError(`${shown(path)} leads out of the worker's folder.`)
}

async function linkKind(full: string, path: string): Promise<'link' | 'other' | 'none'> {
  try {
    return (await lstat(full)).isSymbolicLink() ? 'link' : 'other'
  } catch (cause) {
    if (codeOf(cause) === 'ENOENT') return 'none'
    throw new InputError(`${shown(path)} cannot be opened (${codeOf(cause)}).`)
  }
}

function isInside(root: string, path: string): boolean {
  return path === root || path.startsWith(root.endsWith(sep) ? root : root + sep)
}

function codeOf(thrown: unknown): string {
  return (thrown as NodeJS.ErrnoException).code ?? 'unknown error'
}

function shown(path: string): string {
  const text = JSON.stringify(path.slice(0, pathCharsShown + 1))
  return text.length <= pathCharsShown ? text : `${text.slice(0, pathCharsShown)}…"`
}
