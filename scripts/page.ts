/**
 * Duty: build the page into dist/page. `npm run build` calls it; `node scripts/page.ts` alone builds only the page.
 * PAGE-BUILD-1 The page asks no other host: fonts, icons and code are part of it. Its addresses are relative, so it works under any path.
 * PAGE-BUILD-2 It holds no script and no style inside its HTML, because its content security policy forbids both.
 * PAGE-BUILD-3 It is what users get, whatever NODE_ENV says: a React for developers is larger and slower.
 */
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build, type Plugin } from 'vite'

const root = fileURLToPath(new URL('..', import.meta.url))

/** Modules that the page takes from the library import these modules of Node; the page leaves them out. Any other import fails the build. */
const leftOut: Readonly<Record<string, string>> = { 'node:buffer': 'Buffer', 'node:crypto': 'hash' }

const noNode: Plugin = {
  name: 'no-node',
  enforce: 'pre',
  resolveId(id) {
    return id in leftOut ? { id: `\0${id}`, moduleSideEffects: false } : null
  },
  load(id) {
    return id.startsWith('\0node:') ? `export const ${leftOut[id.slice(1)]} = undefined` : null
  },
  generateBundle(_options, bundle) {
    for (const file of Object.values(bundle)) {
      const modules = file.type === 'chunk' ? Object.entries(file.modules) : []
      const needed = modules
        .filter(([id, { renderedLength }]) => id.startsWith('\0node:') && renderedLength > 0)
        .map(([id]) => id.slice(1))
      if (needed.length > 0) this.error(`${file.fileName} needs ${needed.join(', ')}, which no browser has`)
    }
  },
}

/** Default: the place from which it is served and packed. */
export async function buildPage(folder = join(root, 'dist', 'page')): Promise<void> {
  const { NODE_ENV } = process.env
  // PAGE-BUILD-3: Vite and React look here.
  process.env.NODE_ENV = 'production'
  try {
    await buildInto(folder)
  } finally {
    if (NODE_ENV === undefined) delete process.env.NODE_ENV
    else process.env.NODE_ENV = NODE_ENV
  }
}

async function buildInto(folder: string): Promise<void> {
  await build({
    configFile: false,
    root: join(root, 'src', 'page'),
    base: './',
    logLevel: 'warn',
    plugins: [noNode],
    build: {
      outDir: folder,
      emptyOutDir: true,
      target: 'es2023',
      modulePreload: { polyfill: false },
      assetsInlineLimit: 0,
      chunkSizeWarningLimit: 1_000,
      rolldownOptions: {
        // Libraries have such a directive in every file, for servers that render them. The page has no such server.
        checks: { moduleLevelDirective: false, bundlerTimings: false },
      },
    },
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await buildPage()
