/** Duty: refuse to pack the package without a build, which would publish one that holds nothing. npm runs it before `npm pack` and `npm publish`. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { root } from './dependencies.mjs'

const needed = ['dist/index.js', 'dist/index.d.ts', 'dist/cli/main.js', 'dist/page/index.html']
const missing = needed.filter((file) => !existsSync(join(root, file)))
if (missing.length > 0) {
  console.error(
    `the package cannot be packed without a build: ${missing.join(', ')} missing. Type \`npm run build\` first.`,
  )
  process.exit(1)
}
