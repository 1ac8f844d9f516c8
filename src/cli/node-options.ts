/** Duty: a node of this process: what it is started with, and how its logs are shown. */
import type { StartNodeOptions } from '../compose.ts'
import type { Config } from '../config.ts'
import type { Logger } from '../log.ts'
import { logLine } from './log-line.ts'

export function nodeOptions(config: Config): Omit<StartNodeOptions, 'workers'> {
  const { redisUrl, namespace, partitions, concurrency } = config
  return {
    namespace,
    concurrency,
    ...(redisUrl === undefined ? {} : { redisUrl }),
    ...(partitions === undefined ? {} : { partitions }),
  }
}

/** JSON lines on stderr, for a node that is a service. */
export async function serviceLogger(config: Config): Promise<Logger> {
  const { stderrLogger } = await import('../log.ts')
  return stderrLogger(config.logLevel)
}

/** Lines for people, for a node that only helps a command. */
export async function commandLogger(level: string, tell: (line: string) => void): Promise<Logger> {
  const { pino } = await import('pino')
  const write = (json: string) => {
    const line = logLine(json)
    if (line !== undefined) tell(line)
  }
  return pino({ level, base: null }, { write })
}
