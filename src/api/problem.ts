/**
 * Duty: turn an error into what a caller is told: problem+json (RFC 9457), with the codes of the library.
 * PROBLEM-1 It has a code and a sentence, and never a stack, a cause, a key of Redis, a path or an address. An error that is not one of troupe's
 *           becomes `bug`, with an id that the log has beside the error itself; what only an operator can put right is told as `config_invalid`, with
 *           such an id too.
 */
import { randomUUID } from 'node:crypto'
import { ConfigError, damageOf, type ErrorCode, RuntimeError } from '../core/errors.ts'

/** The codes that only HTTP has. */
export const httpCodes = [
  'token_missing',
  'token_unknown',
  'right_missing',
  'ceiling_exceeded',
  'allowance_exceeded',
  'host_unknown',
  'origin_foreign',
  'type_unsupported',
  'too_many_requests',
  'route_not_found',
  'request_too_large',
  'request_malformed',
  'arguments_changed',
  'key_reused',
] as const
export type HttpCode = (typeof httpCodes)[number]

/** What is wrong with a field of the request. */
export interface FieldProblem {
  /** A JSON pointer: `/body/limits/tokens`. */
  readonly pointer: string
  readonly message: string
}

export interface Problem {
  readonly type: string
  readonly status: number
  readonly title: string
  readonly code: ErrorCode | HttpCode
  readonly detail: string
  readonly errors?: readonly FieldProblem[]
  /** Set for a fault of troupe: the log has the same id. */
  readonly id?: string
}

export const statusOf: Readonly<Partial<Record<ErrorCode, number>>> = {
  config_invalid: 503,
  input_invalid: 400,
  worker_not_found: 404,
  session_not_found: 404,
  letter_not_found: 404,
  ask_not_found: 404,
  webhook_not_found: 404,
  delivery_not_found: 404,
  node_not_found: 404,
  kind_unknown: 404,
  tool_unknown: 404,
  transition_illegal: 409,
  session_finished: 409,
  worker_terminal: 409,
  version_stale: 409,
  ask_answered: 409,
  ask_expired: 409,
  ask_withdrawn: 409,
  mailbox_full: 429,
  message_too_big: 413,
  step_too_big: 413,
  permission_exceeded: 403,
  store_unavailable: 503,
  store_refused: 503,
  client_closed: 503,
  deadline_exceeded: 504,
}

const titles: Readonly<Record<number, string>> = {
  400: 'The request is wrong',
  401: 'No valid token',
  403: 'Not allowed',
  404: 'Not found',
  406: 'Not acceptable',
  408: 'Too slow',
  409: 'The state does not allow it',
  411: 'Length required',
  413: 'Too large',
  414: 'The address is too long',
  415: 'Only JSON is accepted',
  421: 'Wrong host',
  422: 'A limit was reached',
  429: 'Too many',
  431: 'The headers are too large',
  500: 'A fault',
  503: 'Unavailable',
  504: 'It took too long',
}

/** `type` is a name, and no address: docs/reference/errors.md and docs/api.md explain each code. */
export function problem(status: number, code: Problem['code'], detail: string, more: Partial<Problem> = {}): Problem {
  return { type: `urn:troupe:error:${code}`, status, title: titles[status] ?? 'It failed', code, detail, ...more }
}

/** An error that only routes of HTTP have. */
export class ApiError extends Error {
  readonly status: number
  readonly code: HttpCode
  readonly more: Partial<Problem>
  readonly headers: Readonly<Record<string, string>>
  constructor(
    status: number,
    code: HttpCode,
    message: string,
    { headers = {}, ...more }: Partial<Problem> & { readonly headers?: Readonly<Record<string, string>> } = {},
  ) {
    super(message)
    this.status = status
    this.code = code
    this.more = more
    this.headers = headers
  }
}

export interface ThrownProblem {
  readonly problem: Problem
  /** True for a fault of troupe or of its set-up: the log needs the error itself. */
  readonly isFault: boolean
}

export function problemOf(thrown: unknown): ThrownProblem {
  if (thrown instanceof ApiError)
    return { problem: problem(thrown.status, thrown.code, thrown.message, thrown.more), isFault: false }
  const isOfSetUp = thrown instanceof ConfigError
  if (thrown instanceof RuntimeError && thrown.code !== 'bug' && !isOfSetUp)
    return { problem: problem(statusOf[thrown.code] ?? 422, thrown.code, thrown.message), isFault: false }
  const id = randomUUID()
  if (isOfSetUp) {
    const why = `The set-up of this server is wrong, or Redis refuses it. Its log says under the id ${id} what to do.`
    return { problem: problem(statusOf.config_invalid as number, thrown.code, why, { id }), isFault: true }
  }
  const detail =
    damageOf(thrown) === undefined
      ? `This is a fault of the server. Its log has more under the id ${id}.`
      : `Another program wrote over stored data: run \`troupe audit\`. The log of the server has more under the id ${id}.`
  return { problem: problem(500, 'bug', detail, { id }), isFault: true }
}
