/**
 * The programs that tests start, from the present sources, as few files: loading some 850 modules one by one took most of each start. They are
 * built by each run, in its folder, laid out as the package is. Whoever starts `src/cli/main.ts` or `test/programs/node/node.ts`, or imports 'troupe',
 * in a process that preloads `preload`, gets the built twin. Any other module of the sources is loaded as it is.
 */
import { globSync } from 'node:fs'
import { cp, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { bundle, packageEntries } from '../../../scripts/bundle.ts'

/** The modules that every node loads. A worker file may have a `zod` of its own beside it, as users may. */
const inside = ['bullmq', 'commander', 'ioredis', 'pino', 'uuid', 'zod']
const repository = fileURLToPath(new URL('../../..', import.meta.url))

/** Resolves with the option of Node by which a process gets them. Builds anew what is there already. */
export async function buildPrograms(folder: string): Promise<string> {
  const programs = globSync('test/programs/**/*.ts', { cwd: repository }).map((file) => file.replaceAll('\\', '/'))
  const built = await bundle({ folder, entries: [...packageEntries, ...programs], inside })
  await cp(join(repository, 'package.json'), join(folder, 'package.json'))
  await cp(join(repository, 'workers'), join(folder, 'dist', 'workers'), { recursive: true })
  for (const name of ['node_modules', 'src'])
    await symlink(join(repository, name), join(folder, name), 'junction').catch(() => {})
  const twins = [...built].map(([source, twin]) => [pathToFileURL(source).href, pathToFileURL(twin).href])
  const preload = join(folder, 'preload.mjs')
  await writeFile(preload, preloadOf(twins))
  return `--import=${pathToFileURL(preload).href}`
}

const preloadOf = (twins: readonly (readonly string[])[]) => `import { registerHooks } from 'node:module'
const twins = new Map(${JSON.stringify(twins)})
const here = new URL('.', import.meta.url).href
registerHooks({
  resolve(specifier, context, next) {
    // What built files import of each other is there, and a module: Node looks for that at length. Workers beside them are TypeScript.
    if (specifier.startsWith('.') && specifier.endsWith('js') && context.parentURL?.startsWith(here))
      return { url: new URL(specifier, context.parentURL).href, format: 'module', shortCircuit: true }
    const found = next(specifier, context)
    const twin = twins.get(found.url)
    return twin === undefined ? found : { ...found, url: twin, format: 'module' }
  },
})
`
