/**
 * Duty: run all checks that a change must pass: `npm run check`. With names of steps as arguments it runs only those steps. It stops at the first
 * step that fails, with the exit code of that step.
 */
import { spawnSync } from 'node:child_process'
import { root } from './dependencies.mjs'

/** Each step is a list of commands. */
const steps = {
  format: [['biome', 'check', '--linter-enabled=false', '.']],
  lint: [['biome', 'lint', '--error-on-warnings', '.'], ['oxlint']],
  types: [['tsc'], ['tsc', '--project', 'src/page']],
  unused: [['knip']],
  test: [['vitest', 'run']],
  build: [['node', 'scripts/build.mjs']],
  boot: [
    ['node', 'dist/cli/main.js', '--version'],
    ['node', 'dist/cli/main.js', '--help'],
    ['node', 'dist/cli/main.js', 'kinds'],
  ],
}

const names = process.argv.length > 2 ? process.argv.slice(2) : Object.keys(steps)
for (const name of names) {
  if (!steps[name]) {
    console.error(`There is no step ${name}. The steps are ${Object.keys(steps).join(', ')}.`)
    process.exit(2)
  }
  const startedAt = performance.now()
  for (const [command, ...args] of steps[name]) {
    console.log(`\n── ${name}: ${[command, ...args].join(' ')}`)
    const { status, error } = spawnSync(command, args, {
      cwd: root,
      stdio: 'inherit',
      shell: process.platform === 'win32',
    })
    if (status !== 0) {
      console.error(`── ${name} failed${error ? `: ${error.message}` : ''}`)
      process.exit(status ?? 1)
    }
  }
  console.log(`── ${name} passed in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
}
