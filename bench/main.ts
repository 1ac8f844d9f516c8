/**
 * Duty: `npm run bench`: reads the flags, starts a Redis of its own, measures what the requested figures need, and prints.
 * Exit codes: 0 all targets hold, 1 one is missed or not measured, 2 wrong usage, 69 no Redis, 130 stopped.
 */
import { Command, CommanderError, InvalidArgumentError } from 'commander'
import { RedisUnavailableError } from '../src/dev/redis-unavailable.ts'
import { contestants } from './contestants.ts'
import { type Figure, figures, judge, type Measurements, type Trial } from './figures.ts'
import { plainConnection } from './peers/connections.ts'
import { type RedisServer, startRedisServer } from './redis-server.ts'
import { jsonLines, tables } from './report.ts'
import { type Arena, openArena } from './trials/arena.ts'
import { measureCancel } from './trials/cancel.ts'
import { measureGrowth } from './trials/growth.ts'
import { measureIdleLatency } from './trials/idle-latency.ts'
import { measureLoaded } from './trials/loaded.ts'
import { measureMemory } from './trials/memory.ts'
import { measureThroughput } from './trials/throughput.ts'

interface Flags {
  readonly json: boolean
  readonly only?: readonly Figure[]
  readonly repeats: number
  readonly seconds: number
}

async function main(argv: readonly string[]): Promise<number> {
  const flags = readFlags(argv)
  if (typeof flags === 'number') return flags
  try {
    return await runBench(flags)
  } catch (error) {
    if (!(error instanceof RedisUnavailableError)) throw error
    process.stderr.write(`${error.message}\n`)
    return 69
  }
}

/** The exit code instead of flags, when there is nothing to run. */
function readFlags(argv: readonly string[]): Flags | number {
  const command = new Command('bench')
    .description('Measures troupe beside BullMQ and checks the figures P1 to P9 of bench/README.md.')
    .option('--json', 'print one line of JSON per figure, and nothing else, on stdout', false)
    .option('--only <figures>', 'measure only these, for example P1,P5 or P3a', parseFigures)
    .option('--repeats <n>', 'rounds; the medians are taken over them', parseWhole(1, 20), 5)
    .option('--seconds <n>', 'length of one measured window', parseWhole(1, 30), 2)
    .addHelpText('after', helpText)
    .exitOverride()
  try {
    command.parse(argv)
    return command.opts<Flags>()
  } catch (error) {
    if (!(error instanceof CommanderError)) throw error
    return error.exitCode === 0 ? 0 : 2
  }
}

const helpText = `
Examples:
  npm run bench                                  everything, in about nine minutes
  npm run bench -- --only P1,P4 --repeats 3      runs and trees against the bound, and what a run costs Redis
  npm run --silent bench -- --json               {"id":"P1a","value":…,"target":…,"ok":…}, a line per figure

Exit codes: 0 every target holds, 1 a target is missed or not measured, 2 wrong usage, 69 no Redis, or Redis died, 130 stopped.`

function parseFigures(list: string): readonly Figure[] {
  const asked = list.split(',').map((id) => id.trim().toLowerCase())
  const unknown = asked.filter((id) => !figures.some((figure) => matches(figure, id)))
  if (unknown.length > 0) {
    const known = figures.map(({ id }) => id).join(', ')
    throw new InvalidArgumentError(`There is no figure "${unknown.join('", "')}"; there are ${known}.`)
  }
  return figures.filter((figure) => asked.some((id) => matches(figure, id)))
}

/** P1 means P1a and P1b. */
function matches(figure: Figure, id: string): boolean {
  const own = figure.id.toLowerCase()
  return own === id || own.slice(0, 2) === id
}

function parseWhole(least: number, most: number): (text: string) => number {
  return (text) => {
    const number = Number(text)
    if (Number.isInteger(number) && number >= least && number <= most) return number
    throw new InvalidArgumentError(`It must be a whole number from ${least} to ${most}.`)
  }
}

async function runBench(flags: Flags): Promise<number> {
  const server = await startRedisServer(process.env.PATH ?? '')
  process.once('SIGINT', stopOnSignal)
  process.once('SIGTERM', stopOnSignal)
  try {
    return await Promise.race([measureFigures(flags, server), server.gone])
  } finally {
    await server.stop()
  }
}

async function measureFigures({ json, only, repeats, seconds }: Flags, { url, name }: RedisServer): Promise<number> {
  const redis = plainConnection(url)
  try {
    const asked = only ?? figures
    const arena = openArena(redis, { repeats, seconds, redisUrl: url })
    arena.progress(`${name}; Node ${process.version}, AOF every second, ${repeats} rounds of ${seconds} s`)
    // Without --only, contestants that no figure needs take part too, for scale.
    const taking = only === undefined ? contestants : contestants.filter(({ id }) => neededBy(asked, id))
    const measured = await measure(taking, asked, arena)
    const results = asked.map((figure) => judge(figure, measured))
    process.stdout.write(json ? jsonLines(results) : tables(contestants, measured, results))
    return results.every(({ ok }) => ok) ? 0 : 1
  } finally {
    redis.disconnect()
  }
}

/** The server and the contestants end with this process, whatever ends it. */
function stopOnSignal(): void {
  process.exit(130)
}

function neededBy(asked: readonly Figure[], contestantId: string): boolean {
  return asked.some(({ needs }) => 'contestants' in needs && needs.contestants.includes(contestantId))
}

function neededUnderLoad(asked: readonly Figure[], contestantId: string): boolean {
  return asked.some(({ needs }) => 'loaded' in needs && needs.loaded.includes(contestantId))
}

async function measure(taking: typeof contestants, asked: readonly Figure[], arena: Arena): Promise<Measurements> {
  const trial = async <Result>(name: Trial, run: (arena: Arena) => Promise<Result>): Promise<Result | null> => {
    if (!asked.some(({ needs }) => 'trial' in needs && needs.trial === name)) return null
    try {
      return await run(arena)
    } catch (error) {
      arena.failed(name, error)
      return null
    }
  }
  return {
    windows: await measureThroughput(taking, arena),
    growth: await trial('growth', measureGrowth),
    memory: await trial('memory', measureMemory),
    idle: await trial('idle', measureIdleLatency),
    cancel: await trial('cancel', measureCancel),
    loaded: await measureLoaded(
      contestants.filter(({ id }) => neededUnderLoad(asked, id)),
      arena,
    ),
  }
}

// Calls that still wait for a lost Redis would keep the process alive.
process.exit(await main(process.argv))
