/**
 * Duty: build dist/: the types that its entries need, the modules of src in few files, the bundled workers (compiled against the package's own
 * published types), and the page. `npm run build` runs it, with the repository's tools on PATH. `--no-check` writes the types of src and does not check them.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { bundle, packageEntries } from './bundle.ts'
import { root } from './dependencies.mjs'
import { removeUnneededTypes } from './needed-types.ts'
import { buildPage } from './page.ts'

const at = (...names) => join(root, ...names)
const compile = (project, ...options) =>
  execFileSync('tsc', ['--project', at(project), ...options], {
    cwd: root,
    stdio: 'inherit',
    shell: process.platform === 'win32',
  })

rmSync(at('dist'), { recursive: true, force: true })
try {
  compile('tsconfig.build.json', ...(process.argv.includes('--no-check') ? ['--noCheck'] : []))
  compile('tsconfig.workers.json')
} catch {
  // The compiler has printed the reason.
  process.exit(1)
}
removeUnneededTypes(root)
await bundle({ folder: root, entries: packageEntries })
chmodSync(at('dist', 'cli', 'main.js'), 0o755)
await buildPage()
