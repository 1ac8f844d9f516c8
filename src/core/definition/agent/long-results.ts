/** Duty: define what happens to results of tools that are too long for a conversation, and check the form of these settings. */
import { didYouMean } from '../../check/closest.ts'
import { isObject } from '../../check/is-object.ts'
import { preview } from '../../check/preview.ts'
import { ConfigError } from '../../errors.ts'

export interface LongResults {
  /** A result with more bytes is kept aside, and the model sees its beginning. Default 200 000. `outputBytesMax` of a tool takes precedence. */
  readonly over?: number
  /** How many bytes of such a result the model sees. Default 10 000. */
  readonly preview?: number
}

const names = ['over', 'preview'] as const
const mosts = { over: 1_000_000, preview: 200_000 } as const

/** Throws a ConfigError that names the wrong setting. */
export function checkLongResults(longResults: unknown): void {
  if (longResults === undefined || longResults === false) return
  if (!isObject(longResults))
    throw new ConfigError(`longResults must be false or an object, not ${preview(longResults)}.`)
  for (const [name, value] of Object.entries(longResults)) {
    const known = names.find((one) => one === name)
    if (known === undefined)
      throw new ConfigError(
        `longResults does not know ${JSON.stringify(name)}; it takes ${names.join(', ')}.${didYouMean(name, names)}`,
      )
    if (value !== undefined && !(Number.isInteger(value) && Number(value) >= 1 && Number(value) <= mosts[known]))
      throw new ConfigError(
        `longResults.${name} must be a whole number of bytes from 1 to ${mosts[known]}, not ${preview(value)}.`,
      )
  }
}
