/**
 * Duty: turn errors of the AI SDK into errors of troupe (MODEL-2 of core/definition/model.ts).
 * SDK-ERROR-1 Errors are recognised by their own fields and not by their class. This file therefore does not load the SDK, and it also
 *             recognises errors of another copy of the SDK.
 * SDK-ERROR-2 Errors of the SDK hold the request with its headers. They are never passed on as a cause; only the provider's short message is.
 */
import { RuntimeError, TerminalError, TransientError } from '../core/errors.ts'
import { noEventsName } from './bounded-fetch.ts'
import { saysOverflow } from './overflow.ts'
import { redact, shortened } from './redact.ts'

export interface ErrorContext {
  /** `provider/model`. */
  readonly id: string
  /** Keys that must not appear. */
  readonly secrets: readonly string[]
  /** The variable from which the key comes, if any. */
  readonly keyVariable?: string | undefined
}

const messageCharsMax = 300

/** Error codes of providers for an empty account. No retry can mend that, even if the HTTP status says otherwise. */
const quotaWords = new Set(['insufficient_quota', 'billing_error', 'billing_not_active', 'billing_hard_limit_reached'])
const overloadedWords = new Set([
  'overloaded_error',
  'rate_limit_error',
  'rate_limit_exceeded',
  'slow_down',
  'overloaded',
])
const refusedWords = new Set([
  'invalid_request_error',
  'invalid_prompt',
  'authentication_error',
  'invalid_api_key',
  'permission_error',
  'not_found_error',
  'model_not_found',
  'content_filter',
  'content_policy_violation',
])
/** Statuses below 500 with which the same request may succeed later. */
const passingStatuses = new Set([408, 409, 425])
const overloadedStatuses = new Set([429, 503, 529])

const garbledNames = new Set([
  'AI_JSONParseError',
  'AI_TypeValidationError',
  'AI_EmptyResponseBodyError',
  'AI_InvalidResponseDataError',
  'AI_InvalidStreamPartError',
  'AI_NoOutputGeneratedError',
  noEventsName,
])
/** How the message of @ai-sdk/anthropic begins when the first event cannot be read. */
const unreadEvent = 'Expected a normalized'
/** Errors raised before anything was sent: the request cannot be expressed in the protocol of this provider. */
const refusedNames = new Set([
  'AI_InvalidPromptError',
  'AI_InvalidMessageRoleError',
  'AI_InvalidDataContentError',
  'AI_MissingToolResultsError',
  'AI_UnsupportedFunctionalityError',
  'AI_UnsupportedModelVersionError',
  'AI_InvalidArgumentError',
  'AI_LoadAPIKeyError',
  'AI_LoadSettingError',
  'AI_NoSuchModelError',
])

type Fields = Readonly<Record<string, unknown>>

interface Facts {
  readonly status: number | undefined
  readonly words: readonly string[]
  readonly names: readonly string[]
  readonly message: string
  readonly headers: Fields
}

type Verdict = 'overloaded' | 'unavailable' | 'garbled' | 'refused' | 'overflowed'

export function toModelError(thrown: unknown, context: ErrorContext): RuntimeError {
  const chain = causesOf(thrown)
  // One of our own errors, which was thrown below the SDK and wrapped by it.
  const own = chain.find((error) => error instanceof RuntimeError)
  if (own !== undefined) return own
  const facts = factsOf(thrown, chain)
  const message = shortened(facts.message, context.secrets, messageCharsMax, context.id)
  const isOdd = facts.status !== undefined && facts.status >= 300
  const said = `${isOdd ? ` (${facts.status})` : ''}${message === '' ? '' : `: ${message}`}`
  const details = { model: context.id, ...(facts.status === undefined ? {} : { status: facts.status }) }
  const retryAfterMs = retryAfterOf(facts.headers)
  const options = { details, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) }
  // The name of a model may hold any text, even a key.
  const id = redact(context.id, context.secrets, context.id)
  switch (verdictOf(facts)) {
    case 'overloaded':
      return new TransientError(`${id} is overloaded${said}`, { ...options, code: 'model_overloaded' })
    case 'unavailable':
      return new TransientError(`${id} did not answer${said}`, { ...options, code: 'model_unavailable' })
    case 'garbled':
      return new TransientError(`${id} sent a reply that cannot be read${said}`, { ...options, code: 'model_garbled' })
    case 'overflowed':
      return new TerminalError(`${id} cannot take a prompt of this length${said}`, {
        details,
        code: 'context_overflow',
      })
    case 'refused':
      return new TerminalError(`${id} refused the request${said}${adviceFor(facts, context)}`, {
        details: { ...details, ...(wouldRefuseAny(facts) && { wouldRefuseAny: true }) },
        code: 'model_refused',
      })
  }
}

function verdictOf({ status, words, names, message }: Facts): Verdict {
  const has = (set: ReadonlySet<string>) => words.some((word) => set.has(word))
  if (has(quotaWords)) return 'refused'
  if (status !== undefined && overloadedStatuses.has(status)) return 'overloaded'
  if (status === undefined && has(overloadedWords)) return 'overloaded'
  // Some servers answer a prompt that is too long with status 500.
  if (saysOverflow(words, message)) return 'overflowed'
  if (status !== undefined && status >= 300) {
    return status >= 500 || passingStatuses.has(status) ? 'unavailable' : 'refused'
  }
  if (has(refusedWords)) return 'refused'
  if (names.some((name) => garbledNames.has(name)) || message.startsWith(unreadEvent)) return 'garbled'
  return names.some((name) => refusedNames.has(name)) ? 'refused' : 'unavailable'
}

/** Statuses, codes and names of errors that have nothing to do with what a prompt holds: the key, the account, the address, the model. */
const anyRequestStatuses = new Set([401, 402, 404, 407])
const anyRequestWords = new Set([
  ...quotaWords,
  'authentication_error',
  'invalid_api_key',
  'permission_error',
  'not_found_error',
  'model_not_found',
])
const anyRequestNames = new Set([
  'AI_LoadAPIKeyError',
  'AI_LoadSettingError',
  'AI_NoSuchModelError',
  'AI_UnsupportedModelVersionError',
])

/** True if the provider would refuse any other prompt in the same way. The input of the run is then not to blame. */
function wouldRefuseAny({ status, words, names }: Facts): boolean {
  if (status !== undefined && (anyRequestStatuses.has(status) || (status >= 300 && status < 400))) return true
  return words.some((word) => anyRequestWords.has(word)) || names.some((name) => anyRequestNames.has(name))
}

function adviceFor({ status, headers }: Facts, { keyVariable, secrets }: ErrorContext): string {
  const place = textAt(headers, 'location')
    .replace(/[?#].*/s, '')
    .replace(/\/\/[^/]*@/, '//')
  if (status !== undefined && status >= 300 && status < 400 && place !== '') {
    const target = shortened(place, secrets, messageCharsMax)
    return ` – it redirects to ${target}, which is not followed: check the base URL.`
  }
  if ((status === 401 || status === 403) && keyVariable !== undefined) return ` – check ${keyVariable}.`
  return status === 404 ? ' – check the name of the model and the base URL.' : ''
}

function factsOf(thrown: unknown, chain: readonly Fields[]): Facts {
  const top = chain[0] ?? {}
  const inner = recordOf(recordOf(top.data)?.error) ?? {}
  const status = chain.map((error) => error.statusCode).find((value) => typeof value === 'number')
  const words = [...chain.flatMap(({ type, code }) => [type, code]), inner.type, inner.code]
  return {
    status,
    words: words.filter((word) => typeof word === 'string'),
    names: chain.map(({ name }) => name).filter((name) => typeof name === 'string'),
    message: messageOf(thrown, chain),
    headers: recordOf(top.responseHeaders) ?? {},
  }
}

/** An error and its causes as plain records. */
function causesOf(thrown: unknown): Fields[] {
  const chain: Fields[] = []
  for (let error = recordOf(thrown); error !== undefined && chain.length < 5; error = recordOf(error.cause)) {
    if (chain.includes(error)) break
    chain.push(error)
  }
  return chain
}

/** The SDK's message for an answer that broke off, whatever the reason. */
const brokenAnswer = 'Failed to process successful response'
/** Messages that say nothing. The cause of such an error has the reason. */
const bareMessages = new Set(['', 'fetch failed', 'terminated', brokenAnswer])

/** The provider's message, or the beginning of the provider's answer if the SDK found no message in it. */
function messageOf(thrown: unknown, chain: readonly Fields[]): string {
  if (typeof thrown === 'string') return thrown
  const [top = {}, ...causes] = chain
  const message = typeof top.message === 'string' ? top.message : ''
  const isUnread = typeof top.responseBody === 'string' && top.data === undefined && top.responseBody.trim() !== ''
  if (isUnread) return `${message}${message === '' ? '' : ': '}${String(top.responseBody)}`
  if (!bareMessages.has(message)) return message
  const cause = causes.map((error) => error.message).find((said) => typeof said === 'string' && !bareMessages.has(said))
  if (typeof cause !== 'string') return message
  return message === '' || message === brokenAnswer ? cause : `${message}: ${cause}`
}

/** The wait for which the provider asks: `retry-after-ms`, or `retry-after` in seconds or as a date. */
function retryAfterOf(headers: Fields): number | undefined {
  const ms = Number.parseFloat(textAt(headers, 'retry-after-ms'))
  if (Number.isFinite(ms) && ms >= 0) return Math.round(ms)
  const after = textAt(headers, 'retry-after').trim()
  if (/^\d+(\.\d+)?$/.test(after)) return Math.round(Number(after) * 1_000)
  // Date.parse reads many numbers as dates. A date in HTTP begins with the day of the week.
  const date = /^[A-Z]/i.test(after) ? Date.parse(after) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now())
}

function textAt(headers: Fields, name: string): string {
  const value = headers[name]
  return typeof value === 'string' ? value : ''
}

function recordOf(value: unknown): Fields | undefined {
  return typeof value === 'object' && value !== null ? (value as Fields) : undefined
}
