/** Duty: a message, a value or a failure as a piece of a line. Long values are cut: one history entry may hold a mebibyte. */

import { withoutBytes } from '../../core/history/chat/media.ts'
import { type BoundDecision, readDecision } from '../../core/worker/ask/approval-ask.ts'
import type { AnswerMessage, Message } from '../../core/worker/message/message.ts'
import type { Failure } from '../../core/worker/run/failure.ts'

const valueCharsMax = 2_000

export function messageLine(message: Message): string {
  switch (message.kind) {
    case 'input':
      return `${steeringWord(message.when)}input${message.from === null ? '' : ` from ${message.from}`}: ${valueLine(message.value)}`
    case 'result': {
      const outcome = message.failure === null ? valueLine(message.value) : failureSentence(message.failure)
      return `result of ${message.name} (${message.status}): ${outcome}`
    }
    case 'timer':
      return `timer: ${valueLine(message.value)}`
    case 'answer':
      return answerLine(message)
  }
}

/** An input that came while the worker was busy, and did not wait for the next run. */
export function steeringWord(when: unknown): string {
  if (when === 'interrupt') return 'interrupting '
  return when === 'steer' ? 'steering ' : ''
}

/** A value with the hash of a call is the approval of a call, or its denial. */
function boundDecision(value: unknown): BoundDecision | null {
  const decision = readDecision(value)
  return decision?.hash === undefined ? null : decision
}

function decisionLine(
  { decision, arguments: args, trust }: BoundDecision,
  by: string | null,
  reason: string | null,
): string {
  const changed = args === undefined ? '' : `, with ${valueLine(args)}`
  const trusts = trust === undefined ? '' : ', and trusts the tool'
  const head = decision === 'approve' ? 'the approval' : 'the denial'
  return `${head} of ${by ?? 'somebody'}${changed}${trusts}${reason === null ? '' : ` (${reason})`}`
}

function answerLine({ status, value, by, reason }: AnswerMessage): string {
  const decision = boundDecision(value)
  if (decision !== null) return decisionLine(decision, by, reason)
  if (status === 'expired') return `no answer in time: ${valueLine(value)}`
  return `answer${by === null ? '' : ` of ${by}`}: ${valueLine(value)}${reason === null ? '' : ` (${reason})`}`
}

export function valueLine(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value, withoutBytes) ?? 'nothing')
  return text.length <= valueCharsMax ? text : `${text.slice(0, valueCharsMax)}…`
}

/** A field of an event or of a log record, if it is a string; otherwise the default. */
export function stringOr(value: unknown, otherwise = ''): string {
  return typeof value === 'string' ? value : otherwise
}

/** `handler_failed (handler, after 3 attempts): what happened` */
export function failureSentence({ code, message, origin, attempt, thrownAt }: Failure): string {
  const attempts = attempt > 1 ? `, after ${attempt} attempts` : ''
  return `${code} (${origin}${attempts}): ${withPlace(message, thrownAt)}`
}

/** `handler_failed: what happened`, for places that show origin and attempts in other fields. */
export function failureCause({ code, message, thrownAt }: Failure): string {
  return `${code}: ${withPlace(message, thrownAt)}`
}

/** `no such file, at workers/reader.ts:12:7` */
export function withPlace(message: string, thrownAt: unknown): string {
  return typeof thrownAt === 'string' ? `${message.replace(/\.?\s*$/, '')}, at ${thrownAt}` : message
}
