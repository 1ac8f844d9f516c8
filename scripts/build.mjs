/**
 * Duty: build dist/: compile src, then compile the bundled workers against the package's own published types, then put the Lua scripts as
 * texts into the module that reads them in the sources, then build the page. `npm run build` runs it, with the repository's tools on PATH.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './dependencies.mjs'
import { buildPage } from './page.ts'

const at = (...names) => join(root, ...names)
const compile = (project) =>
  execFileSync('tsc', ['--project', at(project)], { cwd: root, stdio: 'inherit', shell: process.platform === 'win32' })

rmSync(at('dist'), { recursive: true, force: true })
try {
  compile('tsconfig.build.json')
  compile('tsconfig.workers.json')
} catch {
  // The compiler has printed the reason.
  process.exit(1)
}
const lua = at('src', 'store', 'lua')
const texts = globSync('**/*.lua', { cwd: lua })
  .sort()
  .map((file) => [file.replaceAll('\\', '/'), readFileSync(join(lua, file), 'utf8')])
writeFileSync(
  at('dist', 'store', 'script', 'lua-files.js'),
  `export const luaFiles = ${JSON.stringify(Object.fromEntries(texts), null, 2)}\n`,
)
chmodSync(at('dist', 'cli', 'main.js'), 0o755)
await buildPage()
