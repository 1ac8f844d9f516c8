/**
 * The rules of ARCHITECTURE.md over the graph of imports. A rule gives a line for each violation, with the file that breaks it.
 */
import type { Import, SourceFile } from './source-graph.ts'

export type Rule = (files: readonly SourceFile[]) => string[]

/** What a part of src/ may import of ours, beside itself. Parts that are not listed are unknown, which is a violation. */
const mayImport: Readonly<Record<string, readonly string[]>> = {
  core: [],
  'config.ts': ['core'],
  'log.ts': ['core'],
  'node-version.ts': ['core'],
  runtime: ['core'],
  store: ['core'],
  wake: ['core'],
  submit: ['core'],
  audit: ['core', 'store'],
  watchdog: ['core', 'store'],
  telemetry: ['core'],
  otel: ['core'],
  notify: ['core'],
  models: ['core'],
  formats: ['core'],
  dev: ['config.ts'],
  client: [
    'core',
    'config.ts',
    'log.ts',
    'store',
    'audit',
    'wake',
    'submit',
    'models',
    'formats',
    'runtime',
    'telemetry',
    'notify',
  ],
  'compose.ts': [
    'compose',
    'core',
    'config.ts',
    'log.ts',
    'store',
    'wake',
    'submit',
    'models',
    'formats',
    'runtime',
    'client',
    'watchdog',
    'telemetry',
    'notify',
  ],
  // The parts that compose.ts may import.
  compose: ['core', 'config.ts', 'log.ts', 'store', 'wake', 'submit', 'runtime', 'client'],
  'index.ts': ['compose.ts', 'client', 'audit', 'core', 'formats', 'config.ts', 'log.ts', 'node-version.ts'],
  words: ['core', 'client'],
  api: ['client', 'audit', 'formats', 'words', 'core', 'config.ts', 'log.ts', 'node-version.ts'],
  cli: [
    'compose.ts',
    'client',
    'audit',
    'api',
    'words',
    'dev',
    'formats',
    'core',
    'config.ts',
    'log.ts',
    'node-version.ts',
  ],
  // http is for programs elsewhere, browsers too: it takes types alone, as `partsRunInBrowsers` says.
  http: ['core'],
  // testing is for tests of users; nothing imports it.
  testing: [
    'compose.ts',
    'client',
    'runtime',
    'store',
    'wake',
    'submit',
    'audit',
    'models',
    'formats',
    'dev',
    'core',
    'config.ts',
    'log.ts',
    'node-version.ts',
  ],
  // page runs in a browser: `partsRunInBrowsers` says what it may load of these parts.
  page: ['core', 'client', 'audit', 'words'],
}

export const layers: Rule = (files) =>
  eachImport(files, (file, { file: target }) => {
    if (target === null || !file.path.startsWith('src/')) return null
    const [from, to] = [partOf(file.path), partOf(target)]
    if (mayImport[from] === undefined) return `${from} is no part that the architecture knows`
    if (to === null) return `imports ${target}, which is not in src/`
    if (from === to || mayImport[from].includes(to)) return null
    return `${from} may not import ${to} (${target})`
  })

/** Rooms of one part that may not import some of the others. */
const oneWay: readonly (readonly [from: string, to: RegExp])[] = [
  ['src/client/fleet/', /^src\/client\/person\//],
  ['src/page/parts/', /^src\/page\/(app|screens)\//],
]

export const roomsPointOneWay: Rule = (files) =>
  eachImport(files, ({ path }, { file: target }) => {
    if (target === null || !oneWay.some(([from, to]) => path.startsWith(from) && to.test(target))) return null
    return `may not import ${target}: imports of these two rooms go the other way`
  })

/** Folder in src/, or file directly in it. */
function partOf(path: string): string
function partOf(path: string): string | null {
  const [top, part] = path.split('/')
  return top === 'src' ? (part ?? null) : null
}

/** Packages that only some parts may use. Files in `typesIn` may name their types. */
const confined: Readonly<Record<string, { readonly in: readonly string[]; readonly typesIn?: readonly string[] }>> = {
  ioredis: { in: ['store'], typesIn: ['wake', 'submit', 'notify'] },
  bullmq: { in: ['wake', 'submit', 'notify'] },
  pino: { in: ['log.ts'] },
  '@opentelemetry/api': { in: ['otel'] },
  commander: { in: ['cli'] },
  fastify: { in: ['api'] },
  'openapi-fetch': { in: ['http'] },
  '@fastify/static': { in: ['api'] },
  '@fastify/rate-limit': { in: ['api'] },
  uuid: { in: ['core'] },
  ai: { in: ['models'] },
  '@ai-sdk/openai': { in: ['models'] },
  '@ai-sdk/anthropic': { in: ['models'] },
  '@ai-sdk/openai-compatible': { in: ['models'] },
  react: { in: ['page'] },
  'react-dom': { in: ['page'] },
  '@tanstack/react-query': { in: ['page'] },
  '@tanstack/react-router': { in: ['page'] },
  '@tanstack/react-virtual': { in: ['page'] },
  marked: { in: ['page'] },
  diff: { in: ['page'] },
}

export const confinement: Rule = (files) =>
  eachImport(files, (file, { pack, typeOnly }) => {
    if (pack === null || !file.path.startsWith('src/')) return null
    const place = confined[pack]
    const part = partOf(file.path)
    if (!place || place.in.includes(part) || (typeOnly && place.typesIn?.includes(part))) return null
    return `may not import ${pack}: only ${place.in.join(', ')} may`
  })

/** What parts that run in browsers may load: of other parts, files that are pure. */
const forBrowsers: Readonly<Record<string, RegExp>> = {
  page: /^src\/(core|page|words)\/|^src\/client\/event\/activity\.ts$/,
  http: /^src\/http\//,
}

/** The page names types of the library, and shares its words; the client of the HTTP API names types. Nothing that they load needs Node. */
export const partsRunInBrowsers: Rule = (files) =>
  eachImport(files, (file, { from, file: target, typeOnly }) => {
    const mayLoad = file.path.startsWith('src/') ? forBrowsers[partOf(file.path)] : undefined
    if (mayLoad === undefined || typeOnly) return null
    if (from.startsWith('node:')) return `imports ${from}, which no browser has`
    return target === null || mayLoad.test(target) ? null : `may import only types of ${target}`
  })

const workerPackages = ['troupe', 'zod', 'smol-toml']

/** Workers are what users copy: they see what a user sees. */
export const workersSeeThePackage: Rule = (files) =>
  eachImport(files, (file, { from, file: target, pack }) => {
    if (!file.path.startsWith('workers/')) return null
    if (pack !== null) return workerPackages.includes(pack) ? null : `may not import ${from}`
    if (target === null || /^workers\/(.*\/)?_/.test(target)) return null
    return `may not import ${target}: only troupe itself and modules that begin with "_"`
  })

/** Core is pure: no I/O, no timers, no clock. */
const impure =
  /\b(Date\.now|new Date\(\)|setTimeout|setInterval|setImmediate|performance\.|process\.|console\.|fetch\()/
const pureBuiltins = ['node:crypto', 'node:buffer', 'node:util']

export const coreIsPure: Rule = (files) => {
  const core = files.filter(({ path }) => path.startsWith('src/core/'))
  const imported = eachImport(core, (_file, { from, typeOnly }) =>
    from.startsWith('node:') && !typeOnly && !pureBuiltins.includes(from) ? `imports ${from}` : null,
  )
  const used = eachLine(core, (line) => impure.test(line) && `uses ${impure.exec(line)?.[1]}`)
  return [...imported, ...used]
}

export const onlyConfigReadsTheEnvironment: Rule = (files) =>
  eachLine(
    files.filter(({ path }) => path !== 'src/config.ts'),
    (line) =>
      /\bprocess\.env\b|\bprocess\[|\{[^}]*\benv\b[^}]*\}\s*=\s*process\b/.test(line) ? 'reads process.env' : null,
  )

export const noDefaultExports: Rule = (files) =>
  eachLine(
    files.filter(({ path }) => path.startsWith('src/')),
    (line) => (/^export default\b|^export \{[^}]*\bas default\b/.test(line) ? 'has a default export' : null),
  )

export const noExportAll: Rule = (files) =>
  eachLine(files, (line) => (/^export (type )?\*/.test(line) ? 'exports *' : null))

export const noCycles: Rule = (files) => {
  const byPath = new Map(files.map((file) => [file.path, file]))
  const cycles: string[] = []
  const done = new Set<string>()
  const visit = (path: string, trail: readonly string[]) => {
    const start = trail.indexOf(path)
    if (start >= 0) cycles.push([...trail.slice(start), path].join(' → '))
    if (start >= 0 || done.has(path)) return
    for (const { file } of byPath.get(path)?.imports ?? []) if (file !== null) visit(file, [...trail, path])
    done.add(path)
  }
  for (const { path } of files) visit(path, [])
  return cycles
}

/** An import of ours names a file that exists. */
export const importsExist: Rule = (files) => {
  const paths = new Set(files.map(({ path }) => path))
  return eachImport(files, (_file, { file }) =>
    file === null || !/\.tsx?$/.test(file) || paths.has(file) ? null : `imports ${file}, which is not there`,
  )
}

/** Comments that name a module of src/ or workers/ with its folder. A place in a file (`tools/fetch.ts:8:9`) is an example. */
export const namedFilesExist: Rule = (files) => {
  const paths = files.map(({ path }) => `/${path}`)
  const named = /(?<![\w./-])(?!(?:scripts|test|bench)\/)(?:[\w-]+\/)+[\w-]+\.tsx?(?![\w:])/g
  return files.flatMap(({ path, text }) =>
    text
      .split('\n')
      .filter((line) => /^\s*(?:\/\*\*|\*|\/\/)/.test(line))
      .flatMap((line) => line.match(named) ?? [])
      .filter((name) => !paths.some((one) => one.endsWith(`/${name}`)))
      .map((name) => `${path} names ${name}, which is not there`),
  )
}

const fileLinesMax = 400
const roomFilesMax = 16
const functionLinesMax = 70

export const smallFiles: Rule = (files) =>
  files
    .map(({ path, text }) => ({ path, lines: text.trimEnd().split('\n').length }))
    .filter(({ lines }) => lines > fileLinesMax)
    .map(({ path, lines }) => `${path} has ${lines} lines, more than ${fileLinesMax}`)

/** A folder that holds more is a drawer: its files belong in rooms that are named by what they own. */
export const smallRooms: Rule = (files) => {
  const rooms = Map.groupBy(files, ({ path }) => path.slice(0, path.lastIndexOf('/')))
  return [...rooms]
    .filter(([, { length }]) => length > roomFilesMax)
    .map(([room, { length }]) => `${room} has ${length} files, more than ${roomFilesMax}`)
}

/**
 * By indentation, which Biome keeps: a function or method begins at a line that ends with "{" after a parameter list, and ends at
 * the first line of the same indentation that begins with "}". A class or an object around it does not count.
 */
export const smallFunctions: Rule = (files) =>
  files.flatMap(({ path, text }) => {
    const lines = text.split('\n')
    return lines.flatMap((line, index) => {
      const indent = /^ */.exec(line)?.[0].length ?? 0
      if (!beginsFunction(lines, index)) return []
      const end = lines.findIndex((other, at) => at > index && other.startsWith(`${' '.repeat(indent)}}`))
      const length = end - headOf(lines, index) + 1
      return length > functionLinesMax
        ? [`${path}:${headOf(lines, index) + 1} is a function of ${length} lines, more than ${functionLinesMax}`]
        : []
    })
  })

const signals = /^\s*(\} )?(if|for|while|switch|catch|else|do|try)\b/

function beginsFunction(lines: readonly string[], index: number): boolean {
  const line = lines[index] as string
  const head = lines[headOf(lines, index)] as string
  if (signals.test(head) || signals.test(line)) return false
  return /(\)(: [^=]+)?|=>) \{$/.test(line)
}

/** The line at which a head begins that was broken over lines: Biome puts its last line at the indentation of the first. */
function headOf(lines: readonly string[], index: number): number {
  const indent = /^ */.exec(lines[index] as string)?.[0] as string
  if (!(lines[index] as string).startsWith(`${indent})`)) return index
  for (let at = index - 1; at >= 0; at--) {
    const line = lines[at] as string
    if (line.startsWith(indent) && line[indent.length] !== ' ') return at
  }
  return index
}

function eachImport(
  files: readonly SourceFile[],
  check: (file: SourceFile, imported: Import) => string | null,
): string[] {
  return files.flatMap((file) =>
    file.imports.flatMap((imported) => {
      const problem = check(file, imported)
      return problem === null ? [] : [`${file.path} ${problem}`]
    }),
  )
}

/** Lines of code; lines that are only comment are left out. */
function eachLine(files: readonly SourceFile[], check: (line: string) => string | null | undefined | false): string[] {
  return files.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, index) => {
      if (/^\s*(\/\/|\/?\*)/.test(line)) return []
      const problem = check(line)
      return problem ? [`${path}:${index + 1} ${problem}`] : []
    }),
  )
}
