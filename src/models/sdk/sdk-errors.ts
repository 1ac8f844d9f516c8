/**
 * Duty: turn errors of the AI SDK into errors of troupe (MODEL-2 of core/definition/model.ts).
 * SDK-ERROR-1 Errors are recognised by their own fields and not by their class. This file therefore does not load the SDK, and it also
 *             recognises errors of another copy of the SDK.
 * SDK-ERROR-2 Errors of the SDK hold the request with its headers. They are never passed on as a cause; only the provider's short message is.
 */
import { RuntimeError, TerminalError, TransientError } from '../../core/errors.ts'
import { classOf, type FailureFacts, wouldRefuseAny } from '../failure-class.ts'
import { redact, shortened } from '../redact.ts'

export interface ErrorContext {
  /** `provider/model`. */
  readonly id: string
  /** Keys that must not appear. */
  readonly secrets: readonly string[]
  /** The variable from which the key comes, if any. */
  readonly keyVariable?: string | undefined
  /** Whether a part of the reply had arrived. */
  readonly hasBegun?: boolean | undefined
}

const messageCharsMax = 300

type Fields = Readonly<Record<string, unknown>>

interface Facts extends FailureFacts {
  readonly headers: Fields
}

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
  switch (classOf(facts)) {
    case 'overloaded':
      return new TransientError(`${id} is overloaded${said}`, { ...options, code: 'model_overloaded' })
    case 'unavailable':
      return new TransientError(`${id} ${context.hasBegun ? 'broke off its reply' : 'did not answer'}${said}`, {
        ...options,
        code: 'model_unavailable',
      })
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
  const sent = recordOf(top.data) ?? {}
  // An error of the Responses protocol stands within a response.
  const parts = [...chain, sent, recordOf(sent.error) ?? {}, recordOf(recordOf(sent.response)?.error) ?? {}]
  const status = chain.map((error) => error.statusCode).find((value) => typeof value === 'number')
  const words = parts.flatMap(({ type, code, status: word }) => [type, code, word])
  return {
    status,
    words: words.filter((word) => typeof word === 'string').map((word) => word.toLowerCase()),
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

/** From this number on, a number of seconds is read as a moment, in seconds since 1970. Nobody asks for a wait of 47 years. */
const epochSecondsMin = 1_500_000_000
/** From this number on, such a moment is in ms. */
const epochMsMin = 1_500_000_000_000

/** The wait for which the provider asks: `retry-after-ms`, or `retry-after` in seconds, as a date, or as a moment since 1970. */
function retryAfterOf(headers: Fields): number | undefined {
  const ms = Number.parseFloat(textAt(headers, 'retry-after-ms'))
  if (Number.isFinite(ms) && ms >= 0) return Math.round(ms)
  const after = textAt(headers, 'retry-after').trim()
  if (/^\d+(\.\d+)?(e\d+)?$/i.test(after)) {
    const number = Number(after)
    if (number < epochSecondsMin) return Math.round(number * 1_000)
    return Math.max(0, Math.round(number < epochMsMin ? number * 1_000 : number) - Date.now())
  }
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
