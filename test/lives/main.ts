/** `npm run lives -- [--count 10000] [--seed 1]`: random lives of agents, and what was wrong with them. */
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { liveMany } from './live-many.ts'

const { values } = parseArgs({ options: { count: { type: 'string', default: '10000' }, seed: { type: 'string' } } })
const seed = Number(values.seed ?? randomInt(1, 2 ** 31))
process.stdout.write(`${values.count} lives from seed ${seed}\n`)
const { faults, counts } = await liveMany(seed, Number(values.count))
process.stdout.write(`${JSON.stringify(counts)}\n`)
for (const fault of faults) process.stdout.write(`${fault.slice(0, 4_000)}\n`)
process.stdout.write(`${faults.length} faults\n`)
process.exitCode = faults.length > 0 ? 1 : 0
