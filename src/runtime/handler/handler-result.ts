/** Duty: check the result of a handler's run against the output schema of its kind, and write it as JSON. */
import { fitTo } from '../../core/check/schema-problems.ts'
import type { HandlerDefinition } from '../../core/definition/define-worker.ts'
import { TerminalError } from '../../core/errors.ts'
import { toJson } from '../../core/json.ts'

/** The result as the schema returns it. Throws a TerminalError if it does not fit: another attempt would reply the same. */
export function resultJson({ output }: Pick<HandlerDefinition, 'output'>, kind: string, value: unknown): string {
  const fit = output && fitTo<unknown>(output, value)
  if (fit?.ok === false) {
    const problem = `the result of ${kind} does not fit its output schema: ${fit.reasons.join('; ')}`
    throw new TerminalError(problem, { cause: fit.thrown })
  }
  return toJson(fit === undefined ? value : fit.value, 'the reply')
}

/** The result of a run that ends without a reply: null, which the schema may turn into something else. Throws a TerminalError if null does not fit. */
export function resultWithoutReply(definition: Pick<HandlerDefinition, 'output'>, kind: string): string {
  if (definition.output === undefined) return 'null'
  try {
    return resultJson(definition, kind, null)
  } catch (cause) {
    if (!(cause instanceof TerminalError)) throw cause
    throw new TerminalError(`${cause.message}. The run ended without a reply: call self.reply(value).`, { cause })
  }
}
