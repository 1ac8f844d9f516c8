/**
 * Duty: how often and after which waits something that failed temporarily is tried again: what an author writes, and its checks.
 * Does not own: the waits themselves (retryDelayMs of core/policy.ts), which are timers in Redis and occupy no slot.
 */
import { didYouMean } from '../check/closest.ts'
import { isObject } from '../check/is-object.ts'
import { preview } from '../check/preview.ts'
import { ConfigError } from '../errors.ts'
import { type BackOff, backOffStrategies, policy } from '../policy.ts'

export interface RetrySettings {
  /** How often it is tried again after a failure that may pass. 0: never. Default 3; 10 for a model call that its provider was too busy for. */
  readonly most?: number
  /** How waits grow: `fixed` always waits `baseMs`, `linear` once, twice, three times as long, `exponential` doubles. Default: `exponential`. */
  readonly strategy?: BackOff['strategy']
  /** The first wait in ms. Half of each wait is random, so that retries spread. Default 200; for model calls 1 000. */
  readonly baseMs?: number
  /** No wait is longer than this, in ms, unless the error asks for it. Default 30 000. */
  readonly capMs?: number
}

const names = ['most', 'strategy', 'baseMs', 'capMs'] as const
export const retriesMost = 1_000

/** Says which setting is wrong; null if none is. */
export function retryProblem(retry: unknown): string | null {
  if (retry === undefined) return null
  if (!isObject(retry)) return `retry must be an object like { most: 3, strategy: 'fixed' }, not ${preview(retry)}.`
  for (const name of Object.keys(retry)) {
    if (names.some((known) => known === name)) continue
    return `retry does not know ${JSON.stringify(name)}; it takes ${names.join(', ')}.${didYouMean(name, names)}`
  }
  const { strategy } = retry
  if (strategy !== undefined && !backOffStrategies.some((known) => known === strategy))
    return `retry.strategy must be one of ${backOffStrategies.join(', ')}, not ${preview(strategy)}.`
  const highest = { most: retriesMost, baseMs: policy.timerMsMax, capMs: policy.timerMsMax }
  for (const [name, most] of Object.entries(highest)) {
    const value = retry[name]
    if (value !== undefined && !(Number.isInteger(value) && (value as number) >= 0 && (value as number) <= most))
      return `retry.${name} must be a whole number from 0 to ${most}, not ${preview(value)}.`
  }
  return null
}

/** Throws a ConfigError that names the setting which is wrong. `retries`: the same as `retry.most`. */
export function checkRetry({ retry, retries }: { readonly retry?: unknown; readonly retries?: unknown }): void {
  const problem = retryProblem(retry)
  if (problem !== null) throw new ConfigError(problem)
  if (retries !== undefined && (retry as RetrySettings | undefined)?.most !== undefined)
    throw new ConfigError('retries and retry.most say the same: leave out one of them.')
}

/** How the waits grow. A setting that is left out has the value of the node's policy; `baseMs`: the first wait of the node. */
export function backOffOf(
  { strategy = 'exponential', baseMs, capMs }: RetrySettings,
  node: { readonly baseMs: number; readonly capMs: number },
): BackOff {
  return { strategy, retryBackoffMs: baseMs ?? node.baseMs, retryBackoffMsMax: capMs ?? node.capMs }
}
