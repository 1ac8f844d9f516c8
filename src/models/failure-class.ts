/**
 * Duty: say by its meaning what kind of failure an error of a provider is.
 * CLASS-1 What the provider says, in types, codes and sentences, counts before the status. Gateways and servers that speak a protocol of others
 *         choose their statuses freely.
 */
import { noEventsName } from './http/bounded-fetch.ts'
import { saysOverflow } from './overflow.ts'

export type FailureClass = 'overloaded' | 'unavailable' | 'garbled' | 'refused' | 'overflowed'

/** What is known of an error. */
export interface FailureFacts {
  readonly status: number | undefined
  /** Types and codes of the error and of what the provider sent, in lower case. */
  readonly words: readonly string[]
  /** The names of the error and of its causes. */
  readonly names: readonly string[]
  readonly message: string
}

/** Error codes of providers for an empty account. No retry can mend that, even if the HTTP status says otherwise. */
const accountWords = [
  'insufficient_quota',
  'insufficient_balance',
  'insufficient_funds',
  'insufficient_credits',
  'billing_error',
  'billing_not_active',
  'billing_hard_limit_reached',
  'payment_required',
]
const accountSentence =
  /\bcredit balance is too low\b|\binsufficient (?:balance|funds|credits?)\b|\bexceeded your current quota, please check your plan and billing\b/i
const keyWords = [
  'authentication_error',
  'invalid_api_key',
  'permission_error',
  'permission_denied',
  'unauthenticated',
  'not_found_error',
  'model_not_found',
]
/** Words for what is wrong with a request, whatever the status. */
const contentWords = ['invalid_prompt', 'content_filter', 'content_policy_violation', 'responsible_ai_policy_violation']
/** A word that many servers send for everything. It counts only where nothing else says more. */
const anyFaultWords = ['invalid_request_error', 'invalid_argument', 'bad_request', 'bad_request_error']
const overloadedWords = [
  'overloaded_error',
  'overloaded',
  'engine_overloaded',
  'engine_overloaded_error',
  'rate_limit_error',
  'rate_limit_exceeded',
  'rate_limit_reached',
  'rate_limited',
  'rate_limit_reached_error',
  'too_many_requests',
  'resource_exhausted',
  'throttlingexception',
  'throttling_error',
  'capacity_exceeded',
  'slow_down',
]
const overloadedSentence =
  /\brate.?limit(?:s|ed|ing)?\b(?! must)|\btoo many requests\b|\b(?:is|are|currently|temporarily) (?:overloaded|at capacity)\b/i
const unavailableWords = [
  'server_error',
  'api_error',
  'internal_error',
  'internal_server_error',
  'service_unavailable',
  'service_unavailable_error',
  'unavailable',
  'timeout',
  'timeout_error',
  'request_timeout',
  'gateway_timeout',
  'deadline_exceeded',
  'bad_gateway',
  'upstream_error',
  'connection_error',
]
const overloadedStatuses = [420, 429, 498, 503, 529]
/** Statuses below 500 with which the same request may succeed later: it took too long, something in between failed, or it was broken off. */
const passingStatuses = [408, 409, 421, 423, 424, 425, 444, 460, 499]

const garbledNames = [
  'AI_JSONParseError',
  'AI_TypeValidationError',
  'AI_EmptyResponseBodyError',
  'AI_InvalidResponseDataError',
  'AI_InvalidStreamPartError',
  'AI_NoOutputGeneratedError',
  noEventsName,
]
/** How the message of @ai-sdk/anthropic begins when the first event cannot be read. */
const unreadEvent = 'Expected a normalized'
/** Errors raised before anything was sent: the request cannot be expressed in the protocol of this provider. */
const refusedNames = [
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
]

export function classOf(facts: FailureFacts): FailureClass {
  const { status, words, names, message } = facts
  const says = (set: readonly string[]) => words.some((word) => set.includes(word))
  const isError = status !== undefined && status >= 300
  if (says(accountWords) || (isError && accountSentence.test(message))) return 'refused'
  if (isError && status === 429) return 'overloaded'
  if (says(keyWords)) return 'refused'
  if (says(overloadedWords)) return 'overloaded'
  if (says(contentWords)) return 'refused'
  // Some servers answer a prompt that is too long with status 500.
  if (!(isError && overloadedStatuses.includes(status)) && saysOverflow(words, message)) return 'overflowed'
  if (isError && overloadedStatuses.includes(status)) return 'overloaded'
  if (isError && (status >= 500 || passingStatuses.includes(status))) return 'unavailable'
  const isRefusal = isError && (status < 400 || anyRequestStatuses.includes(status))
  if (isError && !isRefusal && overloadedSentence.test(message)) return 'overloaded'
  if (!isRefusal && says(unavailableWords)) return 'unavailable'
  if (isError || says(anyFaultWords)) return 'refused'
  if (names.some((name) => garbledNames.includes(name)) || message.startsWith(unreadEvent)) return 'garbled'
  return names.some((name) => refusedNames.includes(name)) ? 'refused' : 'unavailable'
}

/** Statuses, codes and names of errors that have nothing to do with what a prompt holds: the key, the account, the address, the model. */
const anyRequestStatuses = [401, 402, 404, 407]
const anyRequestNames = [
  'AI_LoadAPIKeyError',
  'AI_LoadSettingError',
  'AI_NoSuchModelError',
  'AI_UnsupportedModelVersionError',
]

/** True if the provider would refuse any other prompt in the same way. The input of the run is then not to blame. */
export function wouldRefuseAny({ status, words, names, message }: FailureFacts): boolean {
  if (status !== undefined && (anyRequestStatuses.includes(status) || (status >= 300 && status < 400))) return true
  if (accountSentence.test(message) || words.some((word) => accountWords.includes(word) || keyWords.includes(word)))
    return true
  return names.some((name) => anyRequestNames.includes(name))
}
