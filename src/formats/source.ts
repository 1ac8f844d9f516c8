/**
 * Duty: decode the text of a conversation that another program kept: one JSON value, or JSON lines.
 * SOURCE-1 The text is measured (bytes, depth, number of parts) before it is parsed.
 * SOURCE-2 A line that is not JSON is passed over with a warning that names it: a log may end in the middle of a line. A text without any JSON
 *          is refused.
 */
import { isObject } from '../core/check/is-object.ts'
import { jsonTextProblem } from '../core/check/json-text.ts'
import { InputError, LimitError } from '../core/errors.ts'
import { parseExactJson } from '../core/exact-json.ts'
import { isDeeperThan } from '../core/json.ts'
import { policy } from '../core/policy.ts'
import { Foreign } from './parts/foreign.ts'

/** What a converter reads. */
export interface Source {
  /** The whole value; null for JSON lines. */
  readonly whole: Foreign | null
  /** The lines, each with its number in its place; for a value that is a list: its items. */
  readonly lines: readonly Foreign[]
  readonly warnings: readonly string[]
}

/** A message is nested in lists and objects of its format. */
const depthMax = policy.jsonDepthMax + 16
const bounds = { depthMax, partsMax: policy.conversationPartsMax }

export function sourceOf(given: unknown): Source {
  if (typeof given !== 'string') return sourceOfValue(given)
  const bytes = Buffer.byteLength(given)
  if (bytes > policy.conversationBytesMax)
    throw new LimitError(
      'message_too_big',
      `the conversation has ${bytes} bytes; the limit is ${policy.conversationBytesMax}.`,
    )
  const text = given.replace(/^\uFEFF/, '').trim()
  if (text === '') throw new InputError('the conversation is empty.')
  const tooMany = jsonTextProblem(text, { ...bounds, depthMax: Number.POSITIVE_INFINITY })
  if (tooMany !== null) throw new InputError(`the conversation ${tooMany}.`)
  // Lines that were cut leave brackets open: the text may be nested deeply while none of its lines is.
  const problem = jsonTextProblem(text, bounds)
  const tooDeep = problem === null ? null : new InputError(`the conversation ${problem}.`)
  if (tooDeep !== null && text.includes('\n')) return sourceOfLines(text, tooDeep)
  if (tooDeep !== null) throw tooDeep
  try {
    return sourceOfValue(parseExactJson(text))
  } catch (thrown) {
    if (!(thrown instanceof SyntaxError)) throw thrown
    return sourceOfLines(text, new InputError(`the conversation is not JSON: ${thrown.message}.`, { cause: thrown }))
  }
}

function sourceOfValue(value: unknown): Source {
  if (isDeeperThan(value, depthMax)) throw new InputError(`the conversation is nested more than ${depthMax} deep.`)
  const whole = new Foreign(value)
  return { whole, lines: whole.isList ? whole.items() : [whole], warnings: [] }
}

/** `asOne`: why the text is not one value. */
function sourceOfLines(text: string, asOne: InputError): Source {
  const lines: Foreign[] = []
  const warnings: string[] = []
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const problem = jsonTextProblem(line, bounds)
    if (problem !== null) throw new InputError(`line ${index + 1} ${problem}.`)
    try {
      lines.push(new Foreign(parseExactJson(line), `line ${index + 1}:`))
    } catch (thrown) {
      warnings.push(`line ${index + 1} is not JSON and was passed over: ${(thrown as Error).message}.`)
    }
  }
  // One line or a few brackets that happen to be JSON do not make JSON lines.
  if (!lines.some(({ value }) => isObject(value))) throw asOne
  return { whole: null, lines, warnings }
}
