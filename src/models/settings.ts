/**
 * Duty: pass the settings of an agent to the AI SDK, and say which of them a model does not take.
 * SETTINGS-1 A setting without effect is an error: no setting is dropped silently. What is known of a provider is checked when the kind is opened; a
 *            setting that only its adapter knows to be wrong (a temperature for a reasoning model) fails the first call.
 */
import { type CallSettings, stopsOf } from '../core/definition/tool/call-settings.ts'
import { ConfigError } from '../core/errors.ts'
import type { ProviderOptions } from '../core/history/chat/chat-message.ts'

export type JsonSchema = Readonly<Record<string, unknown>>

/** What is known of a provider's settings before any call. */
export interface SettingRules {
  /** Names under which its adapter reads `providerOptions`. Undefined if that is not known. */
  readonly optionNames?: readonly string[]
  readonly temperatureMax?: number
  readonly stopsMax?: number
  /** The option from which its adapter reads the effort, if it would silently drop the general one for some models. */
  readonly effortOption?: string
  /** How many tokens a reply has at most if the agent does not say it. Default: what its adapter chooses. */
  readonly outputTokens?: number
  /** Options for its adapter that the settings of a kind may change. */
  readonly defaultOptions?: ProviderOptions
  /**
   * The options with which it holds replies to this JSON Schema of an object; null: it cannot hold them to this schema. Absent: it holds replies to
   * no schema.
   */
  holdTo?(schema: JsonSchema): ProviderOptions | null | Promise<ProviderOptions | null>
  /** A reply that is held to a schema calls no tools. */
  readonly heldCallsNoTools?: boolean
  /** Options with which a conversation would depend on data that the provider keeps. */
  readonly forbidden?: readonly string[]
}

/** Says in one sentence which setting the model does not take. Null if it takes all, as far as that is known. */
export function settingProblem(id: string, settings: CallSettings, rules: SettingRules): string | null {
  const { temperature, providerOptions = {} } = settings
  const { optionNames, temperatureMax, stopsMax, forbidden = [] } = rules
  if (temperature !== undefined && temperatureMax !== undefined && temperature > temperatureMax)
    return `the model ${id} takes a temperature from 0 to ${temperatureMax}, not ${temperature}.`
  const stops = stopsOf(settings).length
  if (stopsMax !== undefined && stops > stopsMax)
    return stopsMax === 0
      ? `the model ${id} does not take the setting stop: remove it, or ask the provider by another protocol.`
      : `the model ${id} takes up to ${stopsMax} texts of stop, not ${stops}.`
  const given = Object.keys(providerOptions)
  if (optionNames !== undefined && given.length > 0 && !given.some((name) => optionNames.includes(name)))
    return `the model ${id} reads no providerOptions of ${given.join(', ')}: write providerOptions: { ${optionNames[0]}: { … } }.`
  for (const name of optionNames ?? []) {
    const kept = forbidden.find((option) => providerOptions[name]?.[option] !== undefined)
    if (kept !== undefined)
      return `the option ${kept} cannot be set for ${id}: troupe keeps the conversation and sends all of it each time.`
  }
  return null
}

/** The settings with the names that `streamText` has. `own`: options that troupe always sets. */
export function sdkSettings(
  settings: CallSettings | undefined,
  own: ProviderOptions | undefined,
  { optionNames: [name] = [], effortOption, outputTokens, defaultOptions }: SettingRules = {},
) {
  const { temperature, maxOutputTokens = outputTokens, effort, providerOptions } = settings ?? {}
  const stopSequences = stopsOf(settings ?? {})
  const asOption = effort !== undefined && name !== undefined && effortOption !== undefined
  const options = mergedOptions(
    mergedOptions(
      defaultOptions,
      asOption ? mergedOptions({ [name]: { [effortOption]: effort } }, providerOptions) : providerOptions,
    ),
    own,
  )
  return {
    ...(temperature === undefined ? {} : { temperature }),
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(effort === undefined || asOption ? {} : { reasoning: effort }),
    ...(stopSequences.length === 0 ? {} : { stopSequences: [...stopSequences] }),
    ...(options === undefined ? {} : { providerOptions: options }),
  }
}

/** Options of `own` take precedence over those that are given. */
export function mergedOptions(
  given: ProviderOptions | undefined,
  own: ProviderOptions | undefined,
): ProviderOptions | undefined {
  if (given === undefined || own === undefined) return given ?? own
  const names = new Set([...Object.keys(given), ...Object.keys(own)])
  return Object.fromEntries([...names].map((name) => [name, { ...given[name], ...own[name] }]))
}

/** How adapters call the settings in their warnings. */
const features: readonly (readonly [setting: keyof CallSettings, feature: RegExp])[] = [
  ['temperature', /^temperature$/],
  ['maxOutputTokens', /^max(?:Output|Completion)?Tokens$/],
  ['effort', /^(?:reasoning|reasoningEffort|effort|thinking)$/],
  ['stop', /^stop(?:Sequences)?$/],
  ['providerOptions', /^providerOptions/],
]

/** Throws a ConfigError if the adapter says that it dropped a setting. Other warnings are passed over. */
export function refuseDropped(id: string, settings: CallSettings | undefined, warnings: readonly unknown[]): void {
  if (settings === undefined) return
  for (const warning of warnings) {
    const { type, feature, details } = warning as Readonly<Record<string, unknown>>
    if (type !== 'unsupported' || typeof feature !== 'string') continue
    const dropped = features.find(([setting, pattern]) => settings[setting] !== undefined && pattern.test(feature))
    if (dropped === undefined) continue
    const why = typeof details === 'string' ? `: ${details}` : ''
    throw new ConfigError(`the model ${id} does not take the setting ${dropped[0]}${why}. Remove it from settings.`)
  }
}
