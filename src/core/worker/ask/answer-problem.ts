/**
 * Duty: say why a value is no answer to an ask: it is none of the options, or does not fit the schema.
 * A schema that zod cannot read (with `not` or `if`, as tools of other programs have them) is checked by whoever gets the answer.
 */
import { z } from 'zod'
import { fitTo } from '../../check/schema-problems.ts'
import type { AskBody } from './ask.ts'

/** Why the value does not answer the ask, as the end of a sentence; null if it does. */
export function answerProblem({ options, schema }: Pick<AskBody, 'options' | 'schema'>, value: unknown): string | null {
  if (options !== undefined && !options.includes(value as string)) return `must be one of: ${options.join(', ')}`
  if (schema === undefined) return null
  const read = readSchema(schema)
  if (read === null) return null
  const fit = fitTo(read, value)
  return fit.ok ? null : `does not fit its schema: ${fit.reasons.join('; ')}`
}

function readSchema(schema: NonNullable<AskBody['schema']>): z.ZodType | null {
  try {
    return z.fromJSONSchema(schema)
  } catch {
    return null
  }
}
