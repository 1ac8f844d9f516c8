/** Duty: a node of this process: what it is started with, and how its logs are shown. */
import type { StartNodeOptions } from '../../compose.ts'
import type { Config } from '../../config.ts'
import type { Logger } from '../../log.ts'
import { type LogLevel, logLevels, logLine } from '../view/log-line.ts'

export function nodeOptions(config: Config): Omit<StartNodeOptions, 'workers'> {
  const { redisUrl, namespace, partitions, concurrency, modelSettings: models } = config
  return { redisUrl, namespace, partitions, concurrency, models }
}

/** JSON lines on stderr, for a node that is a service. */
export async function serviceLogger(config: Config): Promise<Logger> {
  const { stderrLogger } = await import('../../log.ts')
  return stderrLogger(config.logLevel)
}

/** Lines for people, for a node that only helps a command. */
export async function commandLogger(least: string, tell: (line: string) => void): Promise<Logger> {
  const { silentLogger } = await import('../../log.ts')
  const log = (level: LogLevel) => (fields: unknown, message?: unknown) => {
    const line = isWanted(level, least) ? logLine({ at: Date.now(), level, fields, message }) : undefined
    if (line !== undefined) tell(line)
  }
  return Object.assign(silentLogger(), Object.fromEntries(logLevels.map((level) => [level, log(level)])))
}

function isWanted(level: LogLevel, least: string): boolean {
  const from = (logLevels as readonly string[]).indexOf(least)
  return from >= 0 && logLevels.indexOf(level) >= from
}
