/**
 * Duty: loads worker kinds from a folder: one file, one kind; the file's path below the folder, without its ending, is the kind.
 * Files and folders that begin with "_" or "." are helpers and are passed over; so are tests, type declarations and node_modules.
 * LOADER-1 Links to files and folders are followed. A file that looks like a worker and is passed over is named in `skipped`.
 * LOADER-2 Only regular files are opened: to open a pipe would wait for whoever writes to it.
 * LOADER-3 A file that cannot be loaded does not keep others from being loaded.
 */
import { readdir, realpath, stat } from 'node:fs/promises'
import { join, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { namePlacesFrom } from '../../core/code-place.ts'
import { isWorkerDefinition, type WorkerDefinition } from '../../core/definition/define-worker.ts'
import { ConfigError } from '../../core/errors.ts'
import { isKind, kindRule } from '../../core/ids.ts'
import { policy } from '../../core/policy.ts'

const endings = ['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs']
const jsxEndings = ['.tsx', '.jsx']

export interface WorkerFolder {
  readonly kinds: Map<string, WorkerDefinition>
  /** What is wrong with the file of a kind, by kind. */
  readonly broken: Map<string, ConfigError>
  /** Sentences about files that are passed over, although they look like workers. */
  readonly skipped: readonly string[]
}

/** Throws a ConfigError that names the folder, if that cannot be read. `loadMs`: how long each file may take. */
export async function readWorkers(folder: string, loadMs: number = policy.loadMs): Promise<WorkerFolder> {
  const root = resolve(folder)
  const { files, skipped } = await filesOf(root)
  // Stacks name files by their real paths.
  namePlacesFrom([process.cwd(), root, await realpath(root)])
  const kinds = new Map<string, WorkerDefinition>()
  const broken = new Map<string, ConfigError>()
  for (const one of files) {
    const { kind } = one
    try {
      if (kinds.has(kind) || broken.has(kind))
        throw new ConfigError(`kind "${kind}" is defined twice in ${root}: by ${one.file} and a file of the same name.`)
      kinds.set(kind, await loadFile(one, loadMs))
    } catch (thrown) {
      if (!(thrown instanceof ConfigError)) throw thrown
      kinds.delete(kind)
      broken.set(kind, thrown)
    }
  }
  return { kinds, broken, skipped }
}

/** Throws a ConfigError that names the folder or the file, and what is wrong with it. `loadMs`: how long each file may take. */
export async function loadWorkers(
  folder: string,
  loadMs: number = policy.loadMs,
): Promise<Map<string, WorkerDefinition>> {
  const { kinds, broken } = await readWorkers(folder, loadMs)
  for (const error of broken.values()) throw error
  return kinds
}

/** The kinds that the files of the folder are named for, with the absolute paths of the files. Nothing is loaded. */
export async function kindsOfFiles(
  folder: string,
): Promise<readonly { readonly kind: string; readonly file: string }[]> {
  return (await filesOf(resolve(folder))).files.filter(({ kind }) => isKind(kind))
}

interface WorkerFile {
  readonly file: string
  readonly kind: string
  /** What the path leads to, if it is no regular file. Absent for a regular file. */
  readonly not?: string
}

interface FoundFiles {
  readonly files: WorkerFile[]
  readonly skipped: string[]
}

async function filesOf(root: string): Promise<FoundFiles> {
  const found: FoundFiles = { files: [], skipped: [] }
  await findFiles(root, root, found, [])
  return found
}

async function loadFile({ file, kind, not }: WorkerFile, loadMs: number): Promise<WorkerDefinition> {
  if (not?.startsWith('a link')) throw new ConfigError(`worker file ${file} is ${not}.`)
  if (not !== undefined)
    throw new ConfigError(`worker file ${file} is no regular file but ${not}: remove it, or put a file there.`)
  if (!isKind(kind)) throw new ConfigError(`${file} is not named like a worker kind: ${kindRule}.`)
  return loadWorker(file, loadMs)
}

function unreadable(folder: string, code: string): string {
  const advice = 'name another one with --workers, TROUPE_WORKERS, or workers of startNode'
  if (code === 'ENOENT') return `there is no workers folder ${folder}: make it, or ${advice}.`
  if (code === 'ENOTDIR') return `the workers folder ${folder} is no folder: ${advice}.`
  return `the workers folder ${folder} cannot be read (${code}).`
}

/** `above`: the real paths of the folders around this one. A link to one of them would lead round for ever. */
async function findFiles(root: string, folder: string, found: FoundFiles, above: readonly string[]): Promise<void> {
  let names: string[]
  let real: string
  try {
    names = await readdir(folder)
    real = await realpath(folder)
  } catch (cause) {
    throw new ConfigError(unreadable(folder, (cause as NodeJS.ErrnoException).code ?? String(cause)), { cause })
  }
  if (above.includes(real)) {
    found.skipped.push(`${folder} is passed over: it is a link to a folder that it lies in.`)
    return
  }
  for (const name of names.sort()) {
    if (/^[._]/.test(name) || name === 'node_modules') continue
    const path = join(folder, name)
    const sort = await sortOf(path)
    if (sort === 'a folder') await findFiles(root, path, found, [...above, real])
    else if (isWorkerFile(name, endings)) {
      const kind = relative(root, path)
        .split(sep)
        .join('/')
        .replace(/\.[^./]+$/, '')
      found.files.push({ file: path, kind, ...(sort !== 'a file' && { not: sort }) })
    } else if (isWorkerFile(name, jsxEndings))
      found.skipped.push(`${path} is passed over: Node runs no JSX. Write it as a .ts or .js file, or compile it.`)
  }
}

async function sortOf(path: string): Promise<string> {
  try {
    const found = await stat(path)
    if (found.isDirectory()) return 'a folder'
    if (found.isFile()) return 'a file'
    if (found.isFIFO()) return 'a pipe'
    return found.isSocket() ? 'a socket' : 'a device'
  } catch (thrown) {
    const { code } = thrown as NodeJS.ErrnoException
    if (code === 'ENOENT') return 'a link to nothing'
    return code === 'ELOOP' ? 'a link to itself' : `unreadable (${code})`
  }
}

function isWorkerFile(name: string, possible: readonly string[]): boolean {
  return possible.some((ending) => name.endsWith(ending)) && !/\.(test|spec|d)\.[^.]+$/.test(name)
}

async function loadWorker(file: string, loadMs: number): Promise<WorkerDefinition> {
  let module: { default?: unknown }
  try {
    module = await within(
      loadMs,
      import(/* webpackIgnore: true */ pathToFileURL(file).href) as Promise<{ default?: unknown }>,
    )
  } catch (cause) {
    const reason = cause instanceof Error ? `${cause.name}: ${cause.message}` : String(cause)
    const sentence = `worker file ${file}${placeOf(cause, file)} cannot be loaded: ${reason.replace(/\.?\s*$/, '.')}`
    throw new ConfigError(`${sentence}${adviceOn(cause)}`, { cause })
  }
  const definition = [module.default, compiledDefault(module.default)].find((value) => isWorkerDefinition(value))
  if (definition !== undefined) return definition
  throw new ConfigError(
    `worker file ${file} must have \`export default defineWorker({ … })\`; it exports ${describe(module)}.`,
  )
}

/** A compiler writes `export default` of a CommonJS file as a field of its exports. */
function compiledDefault(exported: unknown): unknown {
  return typeof exported === 'object' && exported !== null && 'default' in exported ? exported.default : undefined
}

/** A file may wait at its top level for something that never comes. Without a bound, the process would end without a word, or wait for ever. */
async function within<Module>(ms: number, loading: Promise<Module>): Promise<Module> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const error = new Error(`it awaits something at its top level that did not come within ${ms / 1_000} s`)
  const timer = setTimeout(reject, ms, error)
  try {
    return await Promise.race([loading, late])
  } finally {
    clearTimeout(timer)
  }
}

/** The place of a syntax error. Node says it only in the first line of the stack, if at all. The place may be in a file that this one imports. */
function placeOf(thrown: unknown, file: string): string {
  const place = thrown instanceof SyntaxError ? /^(?:file:\/\/)?(\S+):(\d+)\n/.exec(thrown.stack ?? '') : null
  if (place === null) return ''
  return place[1] === file ? `, line ${place[2]},` : ` (line ${place[2]} of ${place[1]})`
}

/** Node looks for packages from the folder of the file upwards, and not from the folder in which the command was typed. */
function adviceOn(thrown: unknown): string {
  const message = thrown instanceof Error ? thrown.message : ''
  if (/^Cannot use import statement outside a module|^Unexpected token 'export'/.test(message))
    return ' Its package.json must say "type": "module": `npm pkg set type=module`.'
  const name = /^Cannot find package '([^']+)'/.exec(message)?.[1]
  if (name === undefined) return ''
  return ` Type \`npm install ${name}\` in the folder of the worker files, or in one above it.`
}

function describe(module: object): string {
  const names = Object.keys(module)
  return names.length === 0
    ? 'nothing'
    : names.map((name) => (name === 'default' ? 'a default that is something else' : name)).join(', ')
}
