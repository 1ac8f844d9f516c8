/**
 * Duty: read the configuration. Only this file reads process.env. A flag overrides the environment, which overrides the default.
 * Throws a ConfigError that names the variable or flag and says which values it takes.
 */

import { readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import type { ModelSettings } from './core/definition/model.ts'
import { ConfigError } from './core/errors.ts'
import { isNamespace, partitionsMax } from './core/ids.ts'
import { policy } from './core/policy.ts'
import { checkRedisUrl } from './core/redis-url.ts'
import { rememberSecretsOf } from './core/secret/known-secrets.ts'

/** The secrets of requests that a node signs; several while one is being replaced. */
interface WebhookSettings {
  readonly secrets: readonly string[]
  readonly allowPrivateAddresses: boolean
}

export interface ConfigFlags {
  readonly redisUrl?: string | undefined
  readonly namespace?: string | undefined
  readonly partitions?: string | number | undefined
  readonly workers?: string | undefined
  readonly concurrency?: string | number | undefined
  readonly logLevel?: string | undefined
  readonly model?: string | undefined
  readonly prices?: string | undefined
  readonly host?: string | undefined
  readonly port?: string | number | undefined
}

export interface Config {
  /** Undefined if neither a flag nor the environment names a Redis. It may be `folderRedisUrl`. */
  readonly redisUrl: string | undefined
  readonly namespace: string
  /** Undefined: the number with which the namespace was set up, or 1. */
  readonly partitions: number | undefined
  readonly workers: string | undefined
  readonly concurrency: number
  readonly logLevel: string
  /** `provider/model` of agents that name no model. */
  readonly model: string | undefined
  readonly modelSettings: ModelSettings
  /** The secrets with which requests that tell of sessions are signed, and where they may go. */
  readonly webhooks: WebhookSettings
  /** Where the API listens. */
  readonly host: string
  /** Undefined: the default port. */
  readonly port: number | undefined
  /** A token of the API, with the right to everything. */
  readonly token: string | undefined
  /** Folders in which programs are searched, as in PATH. */
  readonly path: string | undefined
  /** The folder in which the user typed the command, if npm runs it in another one. */
  readonly typedIn: string | undefined
  /** How the user called the command line: `troupe`, `npx troupe` or `npm run troupe --`. */
  readonly calledAs: string
}

/** The address that stands for the Redis which keeps its data in .troupe/redis of the current folder. */
export const folderRedisUrl = 'folder'
export const defaultRedisUrl = 'redis://127.0.0.1:6379'
export const defaultNamespace = 'troupe'
const logLevels = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']

/** The default model and the settings of providers from the environment, for programs that start a node themselves. */
export function readModelSettings(env: NodeJS.ProcessEnv = process.env): ModelSettings {
  rememberSecretsOf(env)
  return { default: filled(env.TROUPE_MODEL), env: providerVariables(env), prices: pricesOf(filled(env.TROUPE_PRICES)) }
}

/** The variables of the environment, and beneath them those of a file such as .env, if that is there. */
export function environmentWith(file: string, env: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  try {
    return { ...parseEnv(readFileSync(file, 'utf8')), ...env }
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code === 'ENOENT') return env
    throw new ConfigError(`the file ${file} cannot be read: ${(thrown as Error).message}.`, { cause: thrown })
  }
}

/** Remembers the secrets of the environment, so that no log and no record of this process repeats them. */
export function rememberSecretsOfEnvironment(): void {
  rememberSecretsOf(process.env)
}

/** The editor of the person, which may have options: `code --wait`. */
export function readEditor(env: NodeJS.ProcessEnv = process.env): string {
  return env.VISUAL?.trim() || env.EDITOR?.trim() || 'vi'
}

/** True if the terminal says that it cannot move its cursor. Terminals inside editors often say so. */
export function isDumbTerminal(env: NodeJS.ProcessEnv = process.env): boolean {
  return env.TERM === 'dumb'
}

export function readConfig(flags: ConfigFlags = {}, env: NodeJS.ProcessEnv = process.env): Config {
  rememberSecretsOf(env)
  const of = (flag: string, value: string | number | undefined, ...variables: string[]) =>
    settingOf(env, flag, value, variables)
  const model = modelOf(of('--model', flags.model, 'TROUPE_MODEL'))
  const concurrency = of('--concurrency', flags.concurrency, 'TROUPE_CONCURRENCY')
  return {
    redisUrl: redisUrlOf(of('--redis-url', flags.redisUrl, 'TROUPE_REDIS_URL', 'REDIS_URL')),
    namespace: namespaceOf(of('--namespace', flags.namespace, 'TROUPE_NAMESPACE')),
    partitions: wholeNumber(of('--partitions', flags.partitions, 'TROUPE_PARTITIONS'), 1, partitionsMax),
    workers: workersOf(flags.workers) ?? filled(env.TROUPE_WORKERS),
    concurrency: wholeNumber(concurrency, 1, policy.slotsMax) ?? policy.slots,
    logLevel: logLevelOf(of('--log-level', flags.logLevel, 'TROUPE_LOG_LEVEL')),
    model,
    modelSettings: {
      default: model,
      env: providerVariables(env),
      prices: pricesOf(flags.prices ?? filled(env.TROUPE_PRICES)),
    },
    host: flags.host ?? filled(env.TROUPE_HOST) ?? '127.0.0.1',
    port: wholeNumber(of('--port', flags.port, 'TROUPE_PORT'), 0, 65_535),
    token: filled(env.TROUPE_TOKEN),
    webhooks: {
      secrets: (filled(env.TROUPE_WEBHOOK_SECRET) ?? '').split(/[\s,]+/).filter(Boolean),
      allowPrivateAddresses: env.TROUPE_WEBHOOK_PRIVATE === 'allow',
    },
    path: env.PATH,
    typedIn: filled(env.INIT_CWD),
    calledAs: calledAs(filled(env.npm_lifecycle_event)),
  }
}

/** npm names the script that it runs. */
function calledAs(script: string | undefined): string {
  if (script === undefined) return 'troupe'
  return script === 'npx' ? 'npx troupe' : 'npm run troupe --'
}

/** The variables whose names end in _API_KEY or _BASE_URL. */
function providerVariables(env: NodeJS.ProcessEnv): Record<string, string> {
  const isOfProvider = ([name, value]: [string, string | undefined]) => /_(API_KEY|BASE_URL)$/.test(name) && value
  return Object.fromEntries(Object.entries(env).filter(isOfProvider)) as Record<string, string>
}

/** A value, and the flag or variable that set it: the flag, or else the first variable that is not empty. */
interface Setting {
  readonly name: string
  readonly value: string | number
}

function settingOf(
  env: NodeJS.ProcessEnv,
  flag: string,
  value: string | number | undefined,
  variables: readonly string[],
): Setting | undefined {
  if (value !== undefined) return { name: flag, value }
  const name = variables.find((variable) => filled(env[variable]) !== undefined)
  return name === undefined ? undefined : { name, value: env[name] as string }
}

function redisUrlOf(setting: Setting | undefined): string | undefined {
  if (setting === undefined) return undefined
  const url = String(setting.value)
  if (url === folderRedisUrl) return url
  try {
    checkRedisUrl(url)
  } catch (thrown) {
    if (!(thrown instanceof ConfigError) || setting.name.startsWith('--')) throw thrown
    throw new ConfigError(`${thrown.message} The URL comes from ${setting.name}.`)
  }
  return url
}

function namespaceOf(setting: Setting | undefined): string {
  if (setting === undefined) return defaultNamespace
  const namespace = String(setting.value)
  if (isNamespace(namespace)) return namespace
  throw new ConfigError(
    `${setting.name} ${JSON.stringify(namespace)} is not valid: use up to 64 letters, digits, "_" or "-".`,
  )
}

/** An empty text mostly comes from a shell variable that was never set. It would mean the current folder, and all its files would run. */
function workersOf(folder: string | undefined): string | undefined {
  if (folder !== '') return folder
  throw new ConfigError('--workers is an empty text: name a folder of worker files, or leave it out for ./workers.')
}

function logLevelOf(setting: Setting | undefined): string {
  if (setting === undefined) return 'info'
  const level = String(setting.value)
  if (logLevels.includes(level)) return level
  throw new ConfigError(`${setting.name} ${JSON.stringify(level)} is not known: use ${logLevels.join(', ')}.`)
}

function modelOf(setting: Setting | undefined): string | undefined {
  if (setting === undefined) return undefined
  const model = String(setting.value)
  if (/^[^/\s]+\/\S+$/.test(model)) return model
  throw new ConfigError(`${setting.name} ${JSON.stringify(model)} must be provider/model, like openai/gpt-5.`)
}

/** `file`: JSON, `{ "provider/model": { "input": 3, "output": 15 } }`. What the file holds is checked when models are opened. */
function pricesOf(file: string | undefined): ModelSettings['prices'] {
  if (file === undefined) return undefined
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as ModelSettings['prices']
  } catch (cause) {
    throw new ConfigError(`the prices of models cannot be read from ${file}: ${(cause as Error).message}.`, { cause })
  }
}

function wholeNumber(setting: Setting | undefined, least: number, most: number): number | undefined {
  if (setting === undefined) return undefined
  const { name, value } = setting
  const number = Number(value)
  if (!Number.isInteger(number) || number < least || number > most) {
    throw new ConfigError(`${name} must be a whole number from ${least} to ${most}, not ${JSON.stringify(value)}.`)
  }
  return number
}

function filled(value: string | undefined): string | undefined {
  return value === undefined || value === '' ? undefined : value
}
