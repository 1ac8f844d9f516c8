/**
 * Duty: configuration from the environment; the only file that reads process.env. Flag over environment over default.
 * Throws a ConfigError that names the variable or flag and what it takes.
 */
import { ConfigError } from './core/errors.ts'
import { isNamespace, partitionsMax } from './core/ids.ts'
import { policy } from './core/policy.ts'
import { checkRedisUrl } from './core/redis-url.ts'

export interface ConfigFlags {
  readonly redisUrl?: string | undefined
  readonly namespace?: string | undefined
  readonly partitions?: string | number | undefined
  readonly workers?: string | undefined
  readonly concurrency?: string | number | undefined
  readonly logLevel?: string | undefined
  readonly model?: string | undefined
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
  /** `provider/model` of agents that name none. */
  readonly model: string | undefined
  readonly modelSettings: ModelSettings
  /** Where programs are looked for. */
  readonly path: string | undefined
  /** Folder in which the user typed the command, when npm changed it. */
  readonly typedIn: string | undefined
}

/** What models are opened with: the default one, and keys and addresses of providers. */
export interface ModelSettings {
  readonly default?: string
  /** Variables that end in _API_KEY or _BASE_URL, and no others. */
  readonly env: Readonly<Record<string, string | undefined>>
}

export const defaultRedisUrl = 'redis://127.0.0.1:6379'
export const defaultNamespace = 'troupe'
const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']

/** For programs that start a node themselves: the default model and the providers, from the environment. */
export function readModelSettings(env: NodeJS.ProcessEnv = process.env): ModelSettings {
  const model = filled(env.TROUPE_MODEL)
  return { ...(model === undefined ? {} : { default: model }), env: providerVariables(env) }
}

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
  const model = flags.model ?? filled(env.TROUPE_MODEL)
  if (model !== undefined && !/^[^/\s]+\/\S+$/.test(model)) {
    throw new ConfigError(
      `the model ${JSON.stringify(model)} must be provider/model, like openai/gpt-5 (--model or TROUPE_MODEL).`,
    )
  }
  return {
    redisUrl,
    namespace,
    partitions: wholeNumber('partitions', flags.partitions ?? filled(env.TROUPE_PARTITIONS), 1, partitionsMax),
    workers: flags.workers ?? filled(env.TROUPE_WORKERS),
    concurrency:
      wholeNumber('concurrency', flags.concurrency ?? filled(env.TROUPE_CONCURRENCY), 1, policy.slotsMax) ??
      policy.slots,
    logLevel,
    model,
    modelSettings: { ...readModelSettings(env), ...(model === undefined ? {} : { default: model }) },
    path: env.PATH,
    typedIn: filled(env.INIT_CWD),
  }
}

function providerVariables(env: NodeJS.ProcessEnv): Record<string, string> {
  const isOfProvider = ([name, value]: [string, string | undefined]) => /_(API_KEY|BASE_URL)$/.test(name) && value
  return Object.fromEntries(Object.entries(env).filter(isOfProvider)) as Record<string, string>
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
