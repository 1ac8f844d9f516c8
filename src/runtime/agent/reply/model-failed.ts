/** Duty: decide what follows from a model call that failed: it is made again later, or the run fails. */
import { type RuntimeError, TransientError, toRuntimeError } from '../../../core/errors.ts'
import type { AgentTurn, Pause } from '../agent-turn.ts'
import type { Retries } from '../retries.ts'

export function modelFailed({ journal, end, retries }: AgentTurn, thrown: unknown): Pause | null {
  const error = withDate(retries, toRuntimeError(thrown))
  const wait = retries.tryAgain(error, 'model')
  if (wait) return wait
  journal.machine.apply(error.retryable ? 'retriesExceeded' : 'replyRefused')
  end.fail(error, 'model', retries.failed('model') + 1, { leftOut: blamesPrompt(error) })
  return null
}

/** The error, with the moment from which the provider would answer, if that is too late for this run. */
function withDate(retries: Retries, error: RuntimeError): RuntimeError {
  const until = retries.tooLate(error, 'model')
  if (until === null || !(error instanceof TransientError)) return error
  const { details, retryAfterMs } = error
  const message = `${error.message} – it asks to be called again at ${until}, which is later than this run waits. Send the input again then.`
  return new TransientError(message, {
    code: error.code as 'model_overloaded',
    details,
    retryAfterMs: retryAfterMs ?? 0,
  })
}

/**
 * True if the model refused what the prompt holds. The same content in the next prompt would end each later run in the same way. Some
 * servers answer content that they cannot read with status 500.
 */
function blamesPrompt({ code, details }: RuntimeError): boolean {
  if (code === 'context_overflow') return true
  if (code === 'model_refused') return details.wouldRefuseAny !== true
  return code === 'model_unavailable' && details.status === 500
}
