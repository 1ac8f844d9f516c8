/** Duty: run a command in the repository after installing its dependencies: `node scripts/with-node.mjs vitest run`. */
import { root } from './dependencies.mjs'
import { runAndExit } from './run.mjs'

const [command, ...args] = process.argv.slice(2)
if (!command) {
  process.stderr.write('Usage: node scripts/with-node.mjs <command> [arguments]\n')
  process.exit(2)
}
await runAndExit(command, args, root)
