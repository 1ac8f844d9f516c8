/**
 * Duty: loads worker kinds from a folder: one file, one kind; the file's path below the folder, without its ending, is the kind.
 * Files and folders that begin with "_" or "." are helpers and are passed over; so are tests, type declarations and node_modules.
 */
import { readdir, stat } from 'node:fs/promises'
import { join, relative, resolve, sep } from 'node:path'
import { pathToFileURL } from 'node:url'
import { isWorkerDefinition, type WorkerDefinition } from '../../core/definition/define-worker.ts'
import { ConfigError } from '../../core/errors.ts'
import { isKind, kindRule } from '../../core/ids.ts'
import { policy } from '../../core/policy.ts'

const endings = ['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs']

/** Throws a ConfigError that names the folder or the file, and what is wrong with it. `loadMs`: how long each file may take. */
export async function loadWorkers(
  folder: string,
  loadMs: number = policy.loadMs,
): Promise<Map<string, WorkerDefinition>> {
  const root = resolve(folder)
  const files = await workerFiles(root, root)
  const kinds = new Map<string, WorkerDefinition>()
  for (const { file, kind } of files) {
    if (!isKind(kind)) throw new ConfigError(`${file} is not named like a worker kind: ${kindRule}.`)
    if (kinds.has(kind))
      throw new ConfigError(`kind "${kind}" is defined twice in ${root}: by ${file} and a file of the same name.`)
    kinds.set(kind, await loadWorker(file, loadMs))
  }
  return kinds
}

/** The kinds that the files of the folder are named for. Nothing is loaded. */
export async function kindsOfFiles(folder: string): Promise<string[]> {
  const root = resolve(folder)
  return (await workerFiles(root, root)).map(({ kind }) => kind).filter(isKind)
}

function unreadable(folder: string, code: string): string {
  const advice = 'name a folder of worker files: --workers or TROUPE_WORKERS (workers in code)'
  if (code === 'ENOENT') return `there is no workers folder ${folder}: ${advice}.`
  if (code === 'ENOTDIR') return `the workers folder ${folder} is no folder: ${advice}.`
  return `the workers folder ${folder} cannot be read (${code}).`
}

async function workerFiles(root: string, folder: string): Promise<{ file: string; kind: string }[]> {
  let entries: import('node:fs').Dirent[]
  try {
    entries = await readdir(folder, { withFileTypes: true })
  } catch (cause) {
    throw new ConfigError(unreadable(folder, (cause as NodeJS.ErrnoException).code ?? String(cause)), { cause })
  }
  const found: { file: string; kind: string }[] = []
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (/^[._]/.test(entry.name) || entry.name === 'node_modules') continue
    const path = join(folder, entry.name)
    if (entry.isDirectory()) {
      found.push(...(await workerFiles(root, path)))
    } else if (isWorkerFile(entry.name)) {
      await checkRegular(path, entry)
      const kind = relative(root, path)
        .split(sep)
        .join('/')
        .replace(/\.[^./]+$/, '')
      found.push({ file: path, kind })
    }
  }
  return found
}

/** Loading a pipe or a device would wait for ever, or never end. */
async function checkRegular(path: string, entry: import('node:fs').Dirent): Promise<void> {
  if (entry.isFile()) return
  const target = entry.isSymbolicLink() ? await stat(path).catch(() => null) : null
  if (target === null && entry.isSymbolicLink()) throw new ConfigError(`worker file ${path} is a link to nothing.`)
  if (!target?.isFile())
    throw new ConfigError(`worker file ${path} is no regular file: remove it, or put a file there.`)
}

function isWorkerFile(name: string): boolean {
  return endings.some((ending) => name.endsWith(ending)) && !/\.(test|spec|d)\.[^.]+$/.test(name)
}

async function loadWorker(file: string, loadMs: number): Promise<WorkerDefinition> {
  let module: { default?: unknown }
  try {
    module = await within(loadMs, import(pathToFileURL(file).href) as Promise<{ default?: unknown }>)
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

/** What a compiler made of `export default` in a CommonJS file. */
function compiledDefault(exported: unknown): unknown {
  return typeof exported === 'object' && exported !== null && 'default' in exported ? exported.default : undefined
}

/** A file that waits at its top level for what never comes would end the process without a word, or never. */
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

/** Where the syntax is wrong, which Node says in the first line of the stack alone, if at all. It may be a file that this one imports. */
function placeOf(thrown: unknown, file: string): string {
  const place = thrown instanceof SyntaxError ? /^(?:file:\/\/)?(\S+):(\d+)\n/.exec(thrown.stack ?? '') : null
  if (place === null) return ''
  return place[1] === file ? `, line ${place[2]},` : ` (line ${place[2]} of ${place[1]})`
}

/** Packages are looked for from the file upwards, not from where the command was typed. */
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
