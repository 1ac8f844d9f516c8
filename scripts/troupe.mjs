/**
 * Duty: run the command line of troupe from its sources: `node scripts/troupe.mjs kinds`. It runs in the folder in which the user typed the command
 * (npm changes the folder and passes the old one in INIT_CWD), so that relative paths work.
 */
import { join } from 'node:path'
import { root } from './dependencies.mjs'
import { runAndExit } from './run.mjs'

const cli = join(root, 'src', 'cli', 'main.ts')
const args = ['--conditions=troupe-source', cli, ...process.argv.slice(2)]
await runAndExit('node', args, process.env.INIT_CWD ?? process.cwd())
