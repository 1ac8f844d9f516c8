/**
 * Duty: the program of a node process, to be killed. It ends with the process that started it.
 * Argument: the folder in which compiled modules are kept.
 */
import { enableCompileCache } from 'node:module'
import type { NodeWord } from './node-order.ts'

process.on('disconnect', () => process.exit(1))
enableCompileCache(process.argv[2])
// Loaded behind the cache, which is why it is not imported above.
const hosting = import('./hosted-node.ts')
process.on('message', (word: NodeWord) => void hosting.then(({ obey }) => obey(word)))
