/**
 * Duty: define the settings with which an agent asks its model, and check their form.
 * Does not own: what a certain model takes (models/settings.ts).
 */
import { didYouMean } from '../../check/closest.ts'
import { isObject } from '../../check/is-object.ts'
import { preview } from '../../check/preview.ts'
import { ConfigError } from '../../errors.ts'
import type { ProviderOptions } from '../../history/chat/chat-message.ts'
import { toJson } from '../../json.ts'

export const efforts = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const

export interface CallSettings {
  /** How freely the model chooses its words, from 0. Default: the provider's. */
  readonly temperature?: number
  /** How many tokens one reply may have at most. A reply that needs more ends with finish reason `length`. Default: the provider's. */
  readonly maxOutputTokens?: number
  /** How much the model thinks before it replies: `none`, `minimal`, `low`, `medium`, `high`, `xhigh`, `max`. Default: the provider's. */
  readonly effort?: (typeof efforts)[number]
  /** The reply ends before this text, or before one of these texts. Default: none. */
  readonly stop?: string | readonly string[]
  /** Further options by provider, with the names that its package of the AI SDK has: `{ openai: { serviceTier: 'flex' } }`. Default: none. */
  readonly providerOptions?: ProviderOptions
}

const names = ['temperature', 'maxOutputTokens', 'effort', 'stop', 'providerOptions'] as const
const temperatureMax = 2
const outputTokensMax = 10_000_000
const stopsMax = 16

/** Throws a ConfigError that names the wrong setting. */
export function checkSettings(settings: unknown): void {
  if (settings === undefined) return
  if (!isObject(settings)) throw new ConfigError(`settings must be an object, not ${preview(settings)}.`)
  for (const name of Object.keys(settings)) {
    if (names.some((known) => known === name)) continue
    const advice = didYouMean(name, names)
    throw new ConfigError(`settings does not know ${JSON.stringify(name)}; it takes ${names.join(', ')}.${advice}`)
  }
  const { temperature, maxOutputTokens, effort, stop, providerOptions } = settings
  if (temperature !== undefined && !isBetween(temperature, 0, temperatureMax)) {
    throw new ConfigError(
      `settings.temperature must be a number from 0 to ${temperatureMax}, not ${preview(temperature)}.`,
    )
  }
  if (
    maxOutputTokens !== undefined &&
    !(Number.isInteger(maxOutputTokens) && isBetween(maxOutputTokens, 1, outputTokensMax))
  ) {
    throw new ConfigError(
      `settings.maxOutputTokens must be a whole number from 1 to ${outputTokensMax}, not ${preview(maxOutputTokens)}.`,
    )
  }
  if (effort !== undefined && !efforts.some((known) => known === effort)) {
    const advice = typeof effort === 'string' ? didYouMean(effort, efforts) : ''
    throw new ConfigError(`settings.effort must be one of ${efforts.join(', ')}, not ${preview(effort)}.${advice}`)
  }
  checkStop(stop)
  checkProviderOptions(providerOptions)
}

function isBetween(value: unknown, least: number, most: number): boolean {
  return typeof value === 'number' && value >= least && value <= most
}

/** The texts of `stop` as a list. */
export function stopsOf({ stop }: CallSettings): readonly string[] {
  return stop === undefined ? [] : typeof stop === 'string' ? [stop] : stop
}

function checkStop(stop: unknown): void {
  if (stop === undefined) return
  const texts: readonly unknown[] = Array.isArray(stop) ? stop : [stop]
  if (texts.length > 0 && texts.length <= stopsMax && texts.every((text) => typeof text === 'string' && text !== ''))
    return
  throw new ConfigError(
    `settings.stop must be a text or up to ${stopsMax} texts, none of them empty, not ${preview(stop)}.`,
  )
}

function checkProviderOptions(options: unknown): void {
  if (options === undefined) return
  if (!isObject(options) || !Object.values(options).every(isObject)) {
    throw new ConfigError(
      `settings.providerOptions must hold an object for each provider, like { openai: { serviceTier: 'flex' } }, not ${preview(options)}.`,
    )
  }
  try {
    toJson(options, 'settings.providerOptions')
  } catch (cause) {
    throw new ConfigError((cause as Error).message, { cause })
  }
}
