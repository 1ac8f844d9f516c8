/**
 * Duty: build dist/: compile src, then compile the bundled workers against the package's own published types, then copy files that are not
 * TypeScript. `npm run build` runs it, with the repository's tools on PATH.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './dependencies.mjs'

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
cpSync(at('src', 'store', 'lua'), at('dist', 'store', 'lua'), { recursive: true })
chmodSync(at('dist', 'cli', 'main.js'), 0o755)
