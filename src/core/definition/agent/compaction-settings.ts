/** Duty: define when and how the conversation of an agent is compacted, and check the form of these settings. */
import { didYouMean } from '../../check/closest.ts'
import { isObject } from '../../check/is-object.ts'
import { preview } from '../../check/preview.ts'
import { ConfigError } from '../../errors.ts'

export interface CompactionSettings {
  /** The share of the model's window from which on the conversation is compacted, from 0.1 to 0.95. Default 0.85. */
  readonly at?: number
  /** The window of the model in tokens. Default: what is known of the model; else it is learnt from the first prompt that is too long. */
  readonly window?: number
  /** How many messages of users, replies and groups of results at the end stay as they are. Default 6. */
  readonly keep?: number
  /** The model that writes the summary, as for `model` of an agent. Default: the model of the agent. */
  readonly model?: unknown
  /** `false`: old results of tools are not cleared before anything is summarised. Default: true. */
  readonly clearResults?: boolean
  /** What else the summary must hold, in your words. Default: nothing. */
  readonly instruction?: string
}

const names = ['at', 'window', 'keep', 'clearResults', 'model', 'instruction'] as const
const atLeast = 0.1
const atMost = 0.95
const windowLeast = 1_000
const keepMost = 1_000
const instructionMost = 4_000

/** Throws a ConfigError that names the wrong setting. */
export function checkCompaction(compaction: unknown): void {
  if (compaction === undefined || compaction === false) return
  if (!isObject(compaction)) throw new ConfigError(`compaction must be false or an object, not ${preview(compaction)}.`)
  for (const name of Object.keys(compaction)) {
    if (names.some((known) => known === name)) continue
    const advice = didYouMean(name, names)
    throw new ConfigError(`compaction does not know ${JSON.stringify(name)}; it takes ${names.join(', ')}.${advice}`)
  }
  const { at, window, keep, clearResults, instruction } = compaction
  if (clearResults !== undefined && typeof clearResults !== 'boolean')
    throw new ConfigError(`compaction.clearResults must be true or false, not ${preview(clearResults)}.`)
  if (at !== undefined && !(typeof at === 'number' && at >= atLeast && at <= atMost))
    throw new ConfigError(`compaction.at must be a number from ${atLeast} to ${atMost}, not ${preview(at)}.`)
  if (window !== undefined && !(Number.isSafeInteger(window) && Number(window) >= windowLeast))
    throw new ConfigError(
      `compaction.window must be a whole number of tokens from ${windowLeast}, not ${preview(window)}.`,
    )
  if (keep !== undefined && !(Number.isInteger(keep) && Number(keep) >= 1 && Number(keep) <= keepMost))
    throw new ConfigError(`compaction.keep must be a whole number from 1 to ${keepMost}, not ${preview(keep)}.`)
  if (instruction !== undefined && !(typeof instruction === 'string' && instruction.length <= instructionMost))
    throw new ConfigError(`compaction.instruction must be a text of at most ${instructionMost} characters.`)
}
