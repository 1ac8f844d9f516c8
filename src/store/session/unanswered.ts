/** Duty: say of a session whose creation got no answer in time that it may be there, and what its caller can do. */
import { TransientError } from '../../core/errors.ts'

/** Any other error is returned as it is: then nothing was written, or the error says what was. */
export function unanswered(error: unknown, sessionId: string, hasKey: boolean): unknown {
  if (!(error instanceof TransientError) || !gotNoAnswer(error)) return error
  const { message, code } = error
  const todo = hasKey
    ? 'The session may have been created: call again with the same idempotency key, which creates it once.'
    : `The session may have been created: \`troupe session show ${sessionId}\` tells once Redis answers. Without an idempotency key, another call creates another session.`
  const details = hasKey ? error.details : { ...error.details, sessionId }
  return new TransientError(`${message} ${todo}`, {
    code: code === 'store_refused' ? code : 'store_unavailable',
    cause: error,
    details,
  })
}

/** Redis may have refused, and then not answered the last attempt. */
function gotNoAnswer({ code, cause }: TransientError): boolean {
  return code === 'store_unavailable' || (cause instanceof TransientError && gotNoAnswer(cause))
}
