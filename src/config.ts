/**
 * Duty: configuration from the environment; the only file that reads process.env. Flag over environment over default.
 * Throws a ConfigError that names the variable or flag and what it takes.
 */
import { ConfigError } from './core/errors.ts'
import { isNamespace, partitionsMax } from './core/ids.ts'
import { policy } from './core/policy.ts'

export interface ConfigFlags {
  readonly redisUrl?: string | undefined
  readonly namespace?: string | undefined
  readonly partitions?: string | number | undefined
  readonly workers?: string | undefined
  readonly concurrency?: string | number | undefined
  readonly logLevel?: string | undefined
}

export interface Config {
  /** Undefined when neither flag nor environment names a Redis. */
  readonly redisUrl: string | undefined
  readonly namespace: string
  /** Undefined: what the namespace was set up with, or 1. */
  readonly partitions: number | undefined
  readonly workers: string | undefined
  readonly concurrency: number
  readonly logLevel: string
  /** Where programs are looked for. */
  readonly path: string | undefined
  /** Folder in which the user typed the command, when npm changed it. */
  readonly typedIn: string | undefined
}

export const defaultRedisUrl = 'redis://127.0.0.1:6379'
export const defaultNamespace = 'troupe'
const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']

export function readConfig(flags: ConfigFlags = {}, env: NodeJS.ProcessEnv = process.env): Config {
  const redisUrl = flags.redisUrl ?? filled(env.TROUPE_REDIS_URL) ?? filled(env.REDIS_URL)
  if (redisUrl !== undefined) checkRedisUrl(redisUrl)
  const namespace = flags.namespace ?? filled(env.TROUPE_NAMESPACE) ?? defaultNamespace
  if (!isNamespace(namespace)) {
    throw new ConfigError(
      `namespace ${JSON.stringify(namespace)} is not valid: use up to 64 letters, digits, "_" or "-".`,
    )
  }
  const logLevel = flags.logLevel ?? filled(env.TROUPE_LOG_LEVEL) ?? 'info'
  if (!logLevels.includes(logLevel))
    throw new ConfigError(`log level ${JSON.stringify(logLevel)} is not known: use ${logLevels.join(', ')}.`)
  return {
    redisUrl,
    namespace,
    partitions: wholeNumber('partitions', flags.partitions ?? filled(env.TROUPE_PARTITIONS), 1, partitionsMax),
    workers: flags.workers ?? filled(env.TROUPE_WORKERS),
    concurrency:
      wholeNumber('concurrency', flags.concurrency ?? filled(env.TROUPE_CONCURRENCY), 1, 10_000) ?? policy.slots,
    logLevel,
    path: env.PATH,
    typedIn: filled(env.INIT_CWD),
  }
}

function checkRedisUrl(url: string): void {
  if (!/^(rediss?|unix):\/\//.test(url) && !url.startsWith('/')) {
    throw new ConfigError(`the Redis URL must begin with redis://, rediss:// or unix://, like ${defaultRedisUrl}.`)
  }
}

function wholeNumber(
  name: string,
  value: string | number | undefined,
  least: number,
  most: number,
): number | undefined {
  if (value === undefined) return undefined
  const number = Number(value)
  if (!Number.isInteger(number) || number < least || number > most) {
    throw new ConfigError(`${name} must be a whole number from ${least} to ${most}, not ${JSON.stringify(value)}.`)
  }
  return number
}

function filled(value: string | undefined): string | undefined {
  return value === undefined || value === '' ? undefined : value
}
