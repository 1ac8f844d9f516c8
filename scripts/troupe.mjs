/**
 * Runs the command line of troupe from its sources: `node scripts/troupe.mjs kinds`.
 * It runs where the user typed the command (npm changes the folder and tells the old one), so that relative paths mean what they say.
 */
import { join } from 'node:path'
import { root } from './dependencies.mjs'
import { runAndExit } from './run.mjs'

const cli = join(root, 'src', 'cli', 'main.ts')
const args = ['--conditions=troupe-source', cli, ...process.argv.slice(2)]
await runAndExit('node', args, process.env.INIT_CWD ?? process.cwd())
