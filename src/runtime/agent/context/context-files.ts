/**
 * Duty: read the files that stand before the conversation of an agent, as one text, and read those again that have changed.
 * CONTEXT-FILES-1 Only regular files within the worker's folder are read, without following links out of it (tool/workspace.ts).
 * CONTEXT-FILES-2 Files come in the order of their patterns, and those of a glob in the order of their paths, each once: the same files give the same
 *                 text.
 * CONTEXT-FILES-3 It never throws for a file, a glob or a reference: what cannot be used is left out, with one line in the log for each reason.
 * CONTEXT-FILES-4 The work of one call is bounded: by how many names are looked at, how many files are opened, and how many bytes are read. A file
 *                 is read again only if its size or one of its times has changed.
 * CONTEXT-FILES-5 A secret that this process knows, or what is surely one, is taken out, as it is from the results of tools.
 * CONTEXT-FILES-6 It ends within a time, also if the folder no longer answers once it is open. One such folder holds up one read at most (FOLDER-TIME-1).
 */
import { Buffer } from 'node:buffer'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ContextSettings } from '../../../core/definition/agent/context-settings.ts'
import type { Workspace } from '../../../core/definition/tool/define-tool.ts'
import type { WorkerLog } from '../../../core/definition/worker-log.ts'
import { toRuntimeError } from '../../../core/errors.ts'
import { redactData, redactSentence } from '../../../core/secret/redact.ts'
import { inFolderTime } from '../../tool/folder-time.ts'

const defaults = { filesMax: 50, fileBytesMax: 50_000, bytesMax: 200_000 } as const
/** How many names of folders one look at globs reads, and how deep it goes. */
const namesMax = 20_000
const depthMax = 32
/** How many files may be opened and then left out: of thousands that no longer fit, each would be opened before each model call. */
const leftOutMax = 100
/** Folders that a glob enters only if its pattern names them. */
const skipped = /^(?:\.|node_modules$)/
const magic = /[*?[\]{}]/

interface ReadFile {
  readonly version: string
  /** Null: it is no text. */
  readonly text: string | null
}

export class ContextFiles {
  readonly #settings: ContextSettings
  readonly #read = new Map<string, ReadFile>()
  readonly #logged = new Set<string>()

  constructor(settings: ContextSettings) {
    this.#settings = settings
  }

  /**
   * The text of the files; empty if there is none. `workspace`: null for a worker without a folder. Throws an InputError if they are not read within
   * `mostMs` (CONTEXT-FILES-6).
   */
  async text(workspace: Workspace | null, log: WorkerLog, mostMs?: number): Promise<string> {
    const { files: patterns = [] } = this.#settings
    if (workspace !== null) {
      const { root } = workspace
      const late = `the files of the folder ${root} were not read`
      // Where one of them hangs, the folder itself may open.
      const place = `files of ${root}`
      return inFolderTime({ place, sharedBy: this, late, look: () => this.#text(workspace, log) }, mostMs)
    }
    this.#skip(log, patterns.join(', '), 'the worker has no folder')
    return ''
  }

  async #text(workspace: Workspace, log: WorkerLog): Promise<string> {
    const { files: patterns = [] } = this.#settings
    const { filesMax, fileBytesMax, bytesMax } = { ...defaults, ...this.#settings }
    const paths = await this.#paths(patterns, workspace, log)
    const parts: string[] = []
    let left = bytesMax
    let leftOut = 0
    for (const path of this.#read.keys()) if (!paths.has(path)) this.#read.delete(path)
    for (const path of paths) {
      if (parts.length === filesMax) {
        this.#skip(log, path, `the context has ${filesMax} files already (context.filesMax)`)
        break
      }
      if (leftOut === leftOutMax) {
        this.#skip(log, path, `${leftOutMax} files before it were left out: it and those behind it are not looked at`)
        break
      }
      const text = await this.#file(path, workspace, fileBytesMax, log)
      if (text === null) {
        leftOut++
        continue
      }
      const bytes = Buffer.byteLength(text)
      if (bytes > left) {
        this.#skip(log, path, `the files of the context have more than ${bytesMax} bytes (context.bytesMax)`)
        leftOut++
        continue
      }
      left -= bytes
      parts.push(`--- ${path} ---\n${text}`)
    }
    return parts.join('\n\n')
  }

  /** Notes that no file is read, because the folder cannot be opened. */
  leaveOut(log: WorkerLog, error: unknown): void {
    this.#skip(log, (this.#settings.files ?? []).join(', '), toRuntimeError(error).message)
  }

  /** The paths of the files, from the folder on, with slashes. */
  async #paths(patterns: readonly string[], workspace: Workspace, log: WorkerLog): Promise<ReadonlySet<string>> {
    const paths = new Set<string>()
    let names: readonly string[] | null = null
    for (const reference of patterns) {
      const pattern = this.#pattern(reference, workspace, log)
      if (pattern === null) continue
      if (!magic.test(pattern)) {
        paths.add(pattern)
        continue
      }
      names ??= await listNames(workspace, patterns, () => {
        this.#skip(
          log,
          reference,
          `the folder has more than ${namesMax} names, or is deeper than ${depthMax}: not all were looked at`,
        )
      })
      for (const name of names) if (posix.matchesGlob(name, pattern)) paths.add(name)
    }
    return paths
  }

  /** A path or a glob from the folder on. Null if it is neither. */
  #pattern(reference: string, workspace: Workspace, log: WorkerLog): string | null {
    let path = reference
    if (/^[a-z][a-z0-9+.-]+:/i.test(reference)) {
      if (!/^file:/i.test(reference)) return this.#skip(log, reference, 'it is no reference to a file')
      try {
        path = fileURLToPath(reference)
      } catch {
        return this.#skip(log, reference, 'it is no address of a local file')
      }
    }
    path = path.replaceAll('\\', '/')
    const root = workspace.root.replaceAll('\\', '/')
    if (path.startsWith(`${root}/`)) path = path.slice(root.length + 1)
    while (path.startsWith('./')) path = path.slice(2)
    if (path.startsWith('/') && magic.test(path))
      return this.#skip(log, reference, "the glob is outside of the worker's folder")
    if (path.split('/').includes('..')) return this.#skip(log, reference, 'it holds ".."')
    if (!isBalanced(path)) return this.#skip(log, reference, 'the glob has a bracket that is not closed')
    return path
  }

  async #file(path: string, workspace: Workspace, fileBytesMax: number, log: WorkerLog): Promise<string | null> {
    try {
      await using file = await workspace.open(path)
      const { ino, size, mtimeNs, ctimeNs } = await file.stat({ bigint: true })
      const version = [ino, size, mtimeNs, ctimeNs].join(' ')
      const known = this.#read.get(path)
      if (known?.version === version) return known.text
      const bytes = Buffer.alloc(Math.min(Number(size), fileBytesMax + 4))
      let length = 0
      while (length < bytes.length) {
        const { bytesRead } = await file.read(bytes, length, bytes.length - length, length)
        if (bytesRead === 0) break
        length += bytesRead
      }
      const read = bytes.subarray(0, length)
      const isText = !read.includes(0)
      const text = isText
        ? redactData(textOf(read, Number(size), fileBytesMax))
        : this.#skip(log, path, 'it is no text')
      this.#read.set(path, { version, text })
      return text
    } catch (error) {
      return this.#skip(log, path, toRuntimeError(error).message)
    }
  }

  #skip(log: WorkerLog, what: string, why: string): null {
    const key = `${what}\n${why}`
    if (this.#logged.has(key)) return null
    if (this.#logged.size < 1_000) this.#logged.add(key)
    log.warn('a file of the context was left out', { file: what, why: redactSentence(why) })
    return null
  }
}

/** The text in whole characters, with a note if the file goes on. */
function textOf(bytes: Buffer, size: number, most: number): string {
  if (bytes.length <= most) return bytes.toString('utf8').trimEnd()
  let end = most
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--
  return `${bytes.toString('utf8', 0, end)}\n[The file has ${size} bytes: only the first ${end} are shown.]`
}

function isBalanced(pattern: string): boolean {
  for (const [open, close] of ['[]', '{}'] as const)
    if (pattern.split(open as string).length !== pattern.split(close as string).length) return false
  return true
}

/** All files of the folder, in the order of their paths. Links are not followed. */
async function listNames(
  workspace: Workspace,
  patterns: readonly string[],
  onTooMany: () => void,
): Promise<readonly string[]> {
  const found: string[] = []
  let seen = 0
  let isCut = false
  const enters = (name: string) =>
    !skipped.test(name) || patterns.some((pattern) => pattern.split(/[/\\]/).includes(name))
  const walk = async (folder: string, depth: number): Promise<void> => {
    const entries = await workspace.list(folder === '' ? '.' : folder).catch(() => [])
    for (const { name, sort } of entries) {
      if (++seen > namesMax || depth > depthMax) {
        isCut = true
        return
      }
      const path = folder === '' ? name : `${folder}/${name}`
      if (sort === 'file') found.push(path)
      else if (sort === 'folder' && enters(name)) await walk(path, depth + 1)
    }
  }
  await walk('', 0)
  if (isCut) onTooMany()
  return found
}
