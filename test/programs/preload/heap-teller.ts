/**
 * Loaded into a node first: at each SIGUSR2 it writes how many bytes its heap holds, after a collection, as a line of the file
 * TROUPE_HEAP_FILE. What a system reports as a process's memory says little: an engine keeps what it once used.
 */
import { appendFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const file = process.env.TROUPE_HEAP_FILE
if (file === undefined) throw new Error('TROUPE_HEAP_FILE says where to write.')
setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
process.on('SIGUSR2', () => {
  collect()
  appendFileSync(file, `${process.memoryUsage().heapUsed}\n`)
})
