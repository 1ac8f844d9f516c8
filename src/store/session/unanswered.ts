/** Duty: say of a session or a message that got no answer in time that it may be there, and what its caller can do. */
import { TransientError } from '../../core/errors.ts'

/** Any other error is returned as it is: then nothing was written, or the error says what was. */
export function unansweredCreate(error: unknown, sessionId: string, hasKey: boolean): unknown {
  if (hasKey)
    return unanswered(
      error,
      'The session may have been created: call again with the same idempotency key, which creates it once.',
    )
  const look = `\`troupe session show ${sessionId}\` tells once Redis answers`
  const advice = `The session may have been created: ${look}. Without an idempotency key, another call creates another session.`
  return unanswered(error, advice, { sessionId })
}

/** A message has no id before Redis gives it a position in the mailbox: its worker is named. */
export function unansweredSend(error: unknown, workerId: string, hasKey: boolean): unknown {
  if (hasKey)
    return unanswered(
      error,
      `The message may have been accepted by worker ${workerId}: call again with the same idempotency key, which sends it once.`,
      { workerId },
    )
  const look = `\`troupe mailbox list ${workerId}\` and \`troupe worker history ${workerId}\` tell once Redis answers`
  const advice = `The message may have been accepted: ${look}. Without an idempotency key, another call sends another message.`
  return unanswered(error, advice, { workerId })
}

function unanswered(error: unknown, advice: string, ids: Readonly<Record<string, string>> = {}): unknown {
  if (!(error instanceof TransientError) || !gotNoAnswer(error)) return error
  const { message, code } = error
  return new TransientError(`${message} ${advice}`, {
    code: code === 'store_refused' ? code : 'store_unavailable',
    cause: error,
    details: { ...error.details, ...ids },
  })
}

/** Redis may have refused, and then not answered the last attempt. */
function gotNoAnswer({ code, cause }: TransientError): boolean {
  return code === 'store_unavailable' || (cause instanceof TransientError && gotNoAnswer(cause))
}
