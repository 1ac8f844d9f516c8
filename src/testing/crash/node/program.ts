/**
 * Duty: the program of a node process that may be killed. It ends with the process that started it.
 * Argument: the folder for compiled modules.
 */
import { enableCompileCache } from 'node:module'
import type { NodeWord } from './node-order.ts'

process.on('disconnect', () => process.exit(1))
enableCompileCache(process.argv[2])
// Loaded after the cache is enabled, and therefore not imported above.
const hosting = import('./hosted-node.ts')
process.on('message', (word: NodeWord) => void hosting.then(({ obey }) => obey(word)))
