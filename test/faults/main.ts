/**
 * `npm run faults`: does to the runtime what it promises to survive, as often as the table says, each row on a Redis of its own. Prints
 * promise, trials and violations; progress goes to stderr. Exit codes: 0 no violation, 1 a violation, 2 wrong usage, 69 no Redis.
 */
import { randomInt } from 'node:crypto'
import { Command, CommanderError, InvalidArgumentError } from 'commander'
import { RedisUnavailableError } from '../../src/dev/redis-unavailable.ts'
import { RedisServer } from '../support/redis/redis-server.ts'
import { report } from './report.ts'
import type { Row } from './row.ts'
import { rows } from './rows.ts'
import { type RowResult, runRow } from './run-row.ts'

interface Flags {
  readonly seed: number
  readonly kills?: number
  readonly minutes?: number
  readonly only?: readonly Row[]
  readonly short: boolean
  readonly json: boolean
}

async function main(argv: readonly string[]): Promise<number> {
  const flags = readFlags(argv)
  if (typeof flags === 'number') return flags
  try {
    return await runAll(flags)
  } catch (error) {
    if (!(error instanceof RedisUnavailableError)) throw error
    process.stderr.write(`${error.message}\n`)
    return 69
  }
}

async function runAll(flags: Flags): Promise<number> {
  const say = (line: string) => void process.stderr.write(`${line}\n`)
  const results: RowResult[] = []
  const chosen = flags.only ?? rows.filter(({ isEndless }) => !isEndless || flags.minutes !== undefined)
  const scale = { isLong: !flags.short, kills: flags.kills, minutes: flags.minutes }
  say(`seed ${flags.seed}: repeat with --seed ${flags.seed}`)
  for (const row of chosen) {
    await using server = await RedisServer.start({ durability: 'everysec' })
    const result = await runRow(row, { scale, seed: flags.seed, redisUrl: server.url, say })
    results.push(result)
    if (flags.json) process.stdout.write(`${JSON.stringify(result)}\n`)
  }
  if (!flags.json) process.stdout.write(report(results))
  const trials = results.reduce((sum, result) => sum + result.trials, 0)
  const violations = results.reduce((sum, result) => sum + result.violations, 0)
  if (flags.json) process.stdout.write(`${JSON.stringify({ trials, violations })}\n`)
  return violations === 0 ? 0 : 1
}

/** The exit code instead of flags, when there is nothing to run. */
function readFlags(argv: readonly string[]): Flags | number {
  const command = new Command('faults')
    .description(
      'Does to troupe what it promises to survive, and says what broke. The rows are those of docs/faults.md.',
    )
    .option('--seed <n>', 'all chances follow from it', parseWhole(1), randomInt(1, 2 ** 31))
    .option('--kills <n>', 'processes to kill in each storm; default 200', parseWhole(1))
    .option(
      '--minutes <n>',
      'length of F45 and F50 to F53: without it one minute if they are named, else they are left out',
      parseMinutes,
    )
    .option('--only <rows>', 'run only these, for example F01,F10', parseRows)
    .option('--short', 'each row as short as it is in npm test', false)
    .option('--json', 'a line of JSON for each row, and {"trials":…,"violations":…} last', false)
    .addHelpText('after', '\nExit codes: 0 no violation, 1 a violation, 2 wrong usage, 69 no redis-server.')
    .exitOverride()
  try {
    command.parse(argv)
    return command.opts<Flags>()
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return error.exitCode === 0 ? 0 : 2
  }
}

function parseRows(list: string): readonly Row[] {
  return list.split(',').map((text) => {
    const row = rows.find(({ id }) => id.toLowerCase() === text.trim().toLowerCase())
    if (row) return row
    throw new InvalidArgumentError(`There is no row "${text}"; there are ${rows.map(({ id }) => id).join(', ')}.`)
  })
}

function parseMinutes(text: string): number {
  const value = Number(text)
  if (value > 0 && Number.isFinite(value)) return value
  throw new InvalidArgumentError('It must be a number above 0; 0.5 is half a minute.')
}

function parseWhole(least: number): (text: string) => number {
  return (text) => {
    const value = Number(text)
    if (!Number.isSafeInteger(value) || value < least)
      throw new InvalidArgumentError(`It must be a whole number from ${least} on.`)
    return value
  }
}

process.exitCode = await main(process.argv)
