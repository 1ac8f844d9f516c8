/**
 * Duty: check what a kind declares of its runs, over all nodes: how many are in progress at once, and how many begin within a time; for all of them,
 * or for each key of their inputs. Pure: the store counts (lua/shared/turn/gates.lua).
 * RUN-LIMITS-1 The node that begins a run makes its key, from the input as `receive` or the model gets it: only nodes that host the kind have the function.
 * RUN-LIMITS-2 A run without a key (null or undefined) is not limited by that setting.
 */
import { checkOptions, type Rule, type Rules, wholeNumberRule } from '../check/check-options.ts'
import { ignoreRejection } from '../check/ignore-rejection.ts'
import { isObject } from '../check/is-object.ts'
import { preview } from '../check/preview.ts'
import { ConfigError, TerminalError } from '../errors.ts'
import { policy } from '../policy.ts'
import { type GateOrder, type GateSort, gateIdOf } from '../worker/gates.ts'

/** A function of the input, or the name of a field of it: `tenant`, or `order.tenant`. A run whose key is null or undefined is not limited. */
export type RunKey<Input> = string | ((input: Input) => string | number | null | undefined)

export interface ConcurrencySettings<Input> {
  /** How many runs may be in progress at once. A run that waits, for children or a timer or a person, is in progress. */
  readonly most: number
  /** Counts the runs of each key by themselves. Default: all runs of the kind together. */
  readonly key?: RunKey<Input>
}

export interface RateSettings<Input> {
  /** How many runs may begin within any `perMs`. */
  readonly most: number
  /** The time in ms, up to a day. */
  readonly perMs: number
  /** Counts the runs of each key by themselves. Default: all runs of the kind together. */
  readonly key?: RunKey<Input>
}

interface Declared {
  readonly concurrency?: ConcurrencySettings<never> | undefined
  readonly rate?: RateSettings<never> | undefined
}

/** The record of a rate has as many times. */
const rateMost = 10_000
const perMsMost = 86_400_000
/** A longer key would be shown nowhere whole. */
const keyBytesMax = 256

const keyRule: Rule = {
  expects: 'a function of the input, or the name of a field of it such as "tenant"',
  fits: (value) => typeof value === 'function' || (typeof value === 'string' && /^[^.]+(\.[^.]+)*$/.test(value)),
}
const required = (rule: Rule): Rule => ({ ...rule, isRequired: true })
const concurrencyRules: Rules<ConcurrencySettings<never>> = {
  most: required(wholeNumberRule(1, policy.runsAtOnceMax)),
  key: keyRule,
}
const rateRules: Rules<RateSettings<never>> = {
  most: required(wholeNumberRule(1, rateMost)),
  perMs: required(wholeNumberRule(1, perMsMost)),
  key: keyRule,
}

/** Throws a ConfigError that names the wrong setting. */
export function checkRunLimits({
  concurrency,
  rate,
}: {
  readonly concurrency?: unknown
  readonly rate?: unknown
}): void {
  if (concurrency !== undefined) checkOptions('concurrency', concurrency, concurrencyRules, ConfigError)
  if (rate !== undefined) checkOptions('rate', rate, rateRules, ConfigError)
}

export function hasRunLimits({ concurrency, rate }: Declared): boolean {
  return concurrency !== undefined || rate !== undefined
}

/** The gates that a run with this input must pass. Throws a TerminalError if a key cannot be made from it. */
export function gatesFor({ concurrency, rate }: Declared, kind: string, input: unknown): GateOrder[] {
  const gates: GateOrder[] = []
  if (concurrency !== undefined) add(gates, kind, input, { sort: 'runs', ...concurrency })
  if (rate !== undefined) add(gates, kind, input, { sort: 'rate', ...rate })
  return gates
}

/** The gates of a run that has begun before, by the ids that its record has. */
export function gatesAgain(
  { concurrency, rate }: Declared,
  ids: { readonly runs: string | null; readonly rate: string | null },
): GateOrder[] {
  const gates: GateOrder[] = []
  if (concurrency && ids.runs !== null) gates.push({ sort: 'runs', id: ids.runs, key: null, most: concurrency.most })
  if (rate && ids.rate !== null) {
    const { most, perMs } = rate
    gates.push({ sort: 'rate', id: ids.rate, key: null, most, perMs })
  }
  return gates
}

interface Limit {
  readonly sort: GateSort
  readonly most: number
  readonly perMs?: number
  readonly key?: RunKey<never>
}

function add(gates: GateOrder[], kind: string, input: unknown, { sort, key, most, perMs }: Limit): void {
  const text = key === undefined ? null : keyOf(key, input, `the key of ${fieldOf[sort]} of kind "${kind}"`)
  if (text === undefined) return
  gates.push({ sort, id: gateIdOf(text), key: text, most, ...(perMs !== undefined && { perMs }) })
}

const fieldOf = { runs: 'concurrency', rate: 'rate' } as const satisfies Record<GateSort, string>

/** Undefined: the run has no key. */
function keyOf(key: RunKey<never>, input: unknown, what: string): string | undefined {
  let value: unknown
  try {
    value = typeof key === 'string' ? fieldAt(input, key) : key(input as never)
  } catch (cause) {
    throw new TerminalError(`${what} could not be made from the input: ${textOf(cause)}`, { cause })
  }
  if (value === null || value === undefined) return undefined
  ignoreRejection(value)
  if (typeof value !== 'string' && typeof value !== 'number')
    throw new TerminalError(`${what} must be a text, a number or null, not ${preview(value)}.`)
  const text = String(value)
  if (Buffer.byteLength(text) <= keyBytesMax) return text
  throw new TerminalError(
    `${what} has ${Buffer.byteLength(text)} bytes, and may have ${keyBytesMax}: ${preview(text)}.`,
  )
}

function fieldAt(input: unknown, path: string): unknown {
  let value = input
  for (const name of path.split('.')) value = isObject(value) && Object.hasOwn(value, name) ? value[name] : undefined
  return value
}

function textOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}
