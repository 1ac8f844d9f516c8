/**
 * Duty: put the modules of the package into few files. A process that loads a dozen files starts in half the time that hundreds of them take.
 * BUNDLE-1 Each module is in one file, whatever entries need it: what a process loads by several entries has one state and one class of each name.
 * BUNDLE-2 A module of src that asks for its own place (`import.meta.url`) gets the place that it would have if each module were a file of dist/. So
 *          it finds the programs that it starts, and package.json.
 * BUNDLE-3 What the sources import only when they need it stays in a file of its own, and dependencies stay outside.
 */
import { globSync, readFileSync, realpathSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { isAbsolute, join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { type Plugin, rolldown } from 'rolldown'
import { parseSync, Visitor } from 'rolldown/utils'

/** The bundler names modules by their real paths. */
const root = realpathSync(fileURLToPath(new URL('..', import.meta.url)))
const src = join(root, 'src')
const lua = join(src, 'store', 'lua')

/** The modules that users import, and the programs that are started. */
export const packageEntries: readonly string[] = [
  'src/index.ts',
  'src/api/index.ts',
  'src/formats/index.ts',
  'src/http/index.ts',
  'src/otel/index.ts',
  'src/testing/index.ts',
  'src/cli/main.ts',
  'src/cli/host/child/program.ts',
  'src/dev/guard.ts',
  'src/runtime/tool/thread/thread-main.ts',
  'src/testing/crash/node/program.ts',
  'src/watchdog/thread-main.ts',
]

export interface BundleOptions {
  /** The modules of src are written to its folder dist/; others to the place that they have in the repository. */
  readonly folder: string
  /** Paths of files of the repository. */
  readonly entries: readonly string[]
  /** Dependencies that are put into the files as well, with all that they need. */
  readonly inside?: readonly string[]
  /** Plugins that run before the ones of this file. */
  readonly plugins?: readonly Plugin[]
}

/** Resolves with the entries: the file of the repository, and the file that holds it. */
export async function bundle({
  folder,
  entries,
  inside = [],
  plugins = [],
}: BundleOptions): Promise<Map<string, string>> {
  const build = await rolldown({
    cwd: root,
    input: Object.fromEntries(entries.map((file) => [builtName(file), join(root, file)])),
    platform: 'node',
    checks: { bundlerTimings: false },
    external: (id, importer) => isPackage(id) && !isInside(id, importer, inside),
    plugins: [...plugins, ownPackage, luaTexts, places],
  })
  await build.write({
    dir: folder,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'dist/parts/[name].js',
    codeSplitting: { groups: [{ name: 'place', test: (id) => id === placeModule, priority: 1 }] },
    minify: false,
  })
  await build.close()
  return new Map(entries.map((file) => [join(root, file), join(folder, `${builtName(file)}.js`)]))
}

function isPackage(id: string): boolean {
  return /^[^.\0]/.test(id) && !isAbsolute(id) && !ownEntries.has(id)
}

/** These packages look for files that lie beside them. */
const neverInside = ['msgpackr', 'thread-stream']

function isInside(id: string, importer: string | undefined, inside: readonly string[]): boolean {
  const [name = ''] = /^(?:@[^/]+\/)?[^/]+/.exec(id) ?? []
  if (isBuiltin(id) || neverInside.includes(name)) return false
  return inside.includes(name) || importer?.includes('/node_modules/') === true
}

/** `src/cli/main.ts` becomes `dist/cli/main`; `test/programs/node/node.ts`, `test/programs/node`. */
function builtName(file: string): string {
  return file.replace(/^src\//, 'dist/').replace(/\.ts$/, '')
}

const ownEntries = new Map(
  ['', '/api', '/formats', '/http', '/otel', '/test'].map((name) => [
    `troupe${name}`,
    join(src, name === '/test' ? 'testing' : name.slice(1), 'index.ts'),
  ]),
)

/** `import 'troupe'` in a program of the repository means its sources. */
const ownPackage: Plugin = {
  name: 'own-package',
  resolveId: { filter: { id: /^troupe(?:\/|$)/ }, handler: (id) => ownEntries.get(id) ?? null },
}

/** Lua scripts become texts. LUA-FILES-1. */
const luaTexts: Plugin = {
  name: 'lua-texts',
  load: {
    filter: { id: /[\\/]store[\\/]script[\\/]lua-files\.ts$/ },
    async handler() {
      const { scriptLibrary } = await import('../src/store/script/script-source.ts')
      const texts = globSync('**/*.lua', { cwd: lua })
        .sort()
        .map((file) => [file.replaceAll('\\', '/'), readFileSync(join(lua, file), 'utf8')])
      const code = `export const luaFiles = ${JSON.stringify(Object.fromEntries(texts), null, 2)}
export const libraryName = ${JSON.stringify(scriptLibrary.name)}`
      return { code, moduleType: 'js' }
    },
  },
}

const placeModule = '\0place'
const isPlaceModule = new RegExp(`^${placeModule}$`)

/**
 * In the package it is a file of dist/parts. In an application that was bundled with troupe in it, no file of troupe lies anywhere: webpack would name
 * the file that it read, and what esbuild writes as CommonJS knows no place at all.
 */
const placeCode = `import { pathToFileURL } from 'node:url'
const isBundled = typeof __webpack_require__ === 'function' || !/\\/dist\\/parts\\/place\\.js(?:$|\\?)/.test(import.meta.url)
export const placeOf = (path) => new URL(path, isBundled ? pathToFileURL('/troupe-is-bundled/dist/') : new URL('../', import.meta.url)).href`

/** BUNDLE-2. A program outside of src keeps the place of its source: the files that it names lie there. */
const places: Plugin = {
  name: 'places',
  resolveId: { filter: { id: isPlaceModule }, handler: (id) => id },
  load: {
    filter: { id: isPlaceModule },
    handler: () => placeCode,
  },
  transform: {
    filter: { id: { include: /\.ts$/, exclude: /[\\/]node_modules[\\/]/ }, code: 'import.meta.' },
    handler(code, id) {
      const found = placesIn(id, code)
      if (found.length === 0) return null
      const path = relative(src, id).replaceAll('\\', '/')
      const isOfPackage = !path.startsWith('..')
      const place = isOfPackage
        ? `__placeOf(${JSON.stringify(path.replace(/\.ts$/, '.js'))})`
        : JSON.stringify(pathToFileURL(id).href)
      let changed = isOfPackage ? `import { placeOf as __placeOf } from ${JSON.stringify(placeModule)};` : ''
      let end = 0
      for (const [from, to] of found) {
        changed += code.slice(end, from) + place
        end = to
      }
      return { code: changed + code.slice(end) }
    },
  },
}

/** The places in the code where a module says `import.meta.url`. Any other property would be that of the bundled file, and is an error. */
function placesIn(file: string, code: string): [number, number][] {
  const found: [number, number][] = []
  const visitor = new Visitor({
    MemberExpression(node) {
      if (node.object.type !== 'MetaProperty') return
      if (code.slice(node.start, node.end) !== 'import.meta.url') throw new Error(`${file}: use import.meta.url alone`)
      found.push([node.start, node.end])
    },
  })
  visitor.visit(parseSync(file, code).program)
  return found
}
