/** Duty: check what a handler asks with `self.ask`, and turn it into the ask that the commit opens. */
import type { z } from 'zod'
import { checkOptions, type Rules } from '../../core/check/check-options.ts'
import { schemaProblem } from '../../core/check/check-schema.ts'
import { isObject } from '../../core/check/is-object.ts'
import { preview } from '../../core/check/preview.ts'
import type { AskOptions, AskQuestion } from '../../core/definition/define-worker.ts'
import { InputError } from '../../core/errors.ts'
import type { AskNote } from '../../core/history/entry.ts'
import { toJson } from '../../core/json.ts'
import { policy } from '../../core/policy.ts'
import type { AskOrder } from '../../core/ports/ports.ts'
import { type AskBody, encodeAnswer, encodeAskBody } from '../../core/worker/ask/ask.ts'
import { toJsonSchema } from '../tool/input-form.ts'

const askRules: Rules<AskOptions> = {
  schema: { expects: 'a zod schema', fits: isObject },
  options: {
    expects: 'a list of texts, none of them empty',
    fits: (value) =>
      Array.isArray(value) && value.length > 0 && value.every((one) => typeof one === 'string' && one !== ''),
  },
  expiresMs: {
    expects: `a whole number of milliseconds from 0 to ${policy.timerMsMax} (a year)`,
    fits: (value) => Number.isInteger(value) && (value as number) >= 0 && (value as number) <= policy.timerMsMax,
  },
  onExpiry: { expects: 'a JSON value', fits: () => true },
}

interface Ask {
  readonly order: AskOrder
  /** The note of the ask for the history. */
  readonly note: AskNote
}

/** The ask with this id. Throws an InputError that names what is wrong with the question or the options. */
export function askOf(id: string, question: AskQuestion, options: AskOptions): Ask {
  checkOptions('ask', options, askRules, InputError)
  const { expiresMs, onExpiry = null } = options
  if (expiresMs === undefined && options.onExpiry !== undefined)
    throw new InputError('ask takes onExpiry only with expiresMs: without it the ask never expires.')
  const { sort, text } = parsed(question)
  const body = encodeAskBody({ question: text, ...answerForm(options) })
  const note: AskNote = { id, sort, question: text, ...(expiresMs !== undefined && { expiresMs }) }
  if (expiresMs === undefined) return { order: { id, sort, body }, note }
  const expired = { status: 'expired', by: null, reason: null } as const
  const fails = `nobody answered ask ${id} (${preview(text)}) in the ${expiresMs} ms that it was open, and its onExpiry is 'fail'`
  const answer =
    onExpiry === 'fail'
      ? encodeAnswer('null', { ...expired, fails })
      : encodeAnswer(toJson(onExpiry, 'onExpiry of ask'), expired)
  return { order: { id, sort, body, expiry: { ms: expiresMs, answer } }, note }
}

function parsed(question: AskQuestion): { readonly sort: AskOrder['sort']; readonly text: string } {
  const signal = isObject(question) ? question.signal : undefined
  const text: unknown = signal ?? question
  if (typeof text === 'string' && text !== '' && Buffer.byteLength(text) <= policy.questionBytesMax)
    return { sort: signal === undefined ? 'question' : 'signal', text }
  throw new InputError(
    `ask takes a question as a text of at most ${policy.questionBytesMax} bytes, or { signal: 'name' }, not ${preview(question)}.`,
  )
}

function answerForm({ options, schema }: AskOptions): Pick<AskBody, 'options' | 'schema'> {
  if (options !== undefined && schema !== undefined)
    throw new InputError('ask takes options or a schema, not both: z.enum([…]) is a schema with options.')
  if (options !== undefined) return { options }
  const problem = schemaProblem('schema of ask', schema)
  if (problem !== null) throw new InputError(problem)
  return schema === undefined ? {} : { schema: answerSchema(schema) }
}

function answerSchema(schema: z.ZodType): Readonly<Record<string, unknown>> {
  try {
    return toJsonSchema(schema, 'ask')
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause)
    throw new InputError(`the schema of ask has no JSON Schema (${why}). Use only types that JSON can hold.`, { cause })
  }
}
