/** `npm run lives -- [--count 10000] [--seed 1]`: random lives of agents, and what was wrong with them. */
import { randomInt } from 'node:crypto'
import { parseArgs } from 'node:util'
import { liveMany } from './live-many.ts'

const countByDefault = 10_000

const usage = `Usage: npm run lives -- [--count <number>] [--seed <number>]

Lives of agents with random trouble, in memory: every prompt is checked. ${countByDefault} lives by default, from a random seed. A fault names the seed of its life.
  npm run lives -- --count 1 --seed 4711    that life once more
Exit codes: 0 no fault, 1 a fault, 2 wrong usage.
`

const isWhole = (number: number, least: number) => Number.isInteger(number) && number >= least && number < 2 ** 31

/** Null if the program was used wrongly. */
function readFlags() {
  try {
    const options = {
      count: { type: 'string' },
      seed: { type: 'string' },
      help: { type: 'boolean', short: 'h' },
    } as const
    const { values } = parseArgs({ options })
    const [count, seed] = [Number(values.count ?? countByDefault), Number(values.seed ?? randomInt(1, 2 ** 31))]
    return isWhole(count, 1) && isWhole(seed, 0) ? { count, seed, help: values.help === true } : null
  } catch {
    return null
  }
}

async function main(): Promise<number> {
  const flags = readFlags()
  if (flags === null) {
    process.stderr.write(usage)
    return 2
  }
  if (flags.help) {
    process.stdout.write(usage)
    return 0
  }
  const { count, seed } = flags
  process.stdout.write(`${count} lives from seed ${seed}\n`)
  const { faults, counts } = await liveMany(seed, count, Number.POSITIVE_INFINITY, (lives) => {
    if (lives % 1_000 === 0) process.stderr.write(`${lives} lives so far\n`)
  })
  process.stdout.write(`${JSON.stringify(counts)}\n`)
  for (const fault of faults) process.stdout.write(`${fault.slice(0, 4_000)}\n`)
  process.stdout.write(`${faults.length} faults\n`)
  return faults.length > 0 ? 1 : 0
}

process.exitCode = await main()
