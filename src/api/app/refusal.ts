/** Duty: turn what fastify and its schemas throw into what a caller is told, beside the errors of troupe (problem.ts). */
import { messageOf, oneLine } from '../../core/check/schema-problems.ts'
import type { FieldProblem, HttpCode, ThrownProblem } from '../problem.ts'
import { problem, problemOf } from '../problem.ts'
import { WrongRequest } from './request-schema.ts'

interface FastifyError {
  readonly code?: string
  readonly statusCode?: number
  readonly message: string
}

const parts: Readonly<Record<string, string>> = {
  querystring: 'query',
  params: 'path',
  body: 'body',
  headers: 'headers',
}

const codes: Readonly<Record<number, HttpCode>> = {
  413: 'request_too_large',
  414: 'request_too_large',
  415: 'type_unsupported',
}

const sentences: Readonly<Record<string, string>> = {
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'send the body as JSON, with the header `Content-Type: application/json`.',
  FST_ERR_CTP_BODY_TOO_LARGE: 'the body is larger than 1 MiB.',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'the body is empty, and its type says JSON: leave out the type, or send `{}`.',
  FST_ERR_CTP_INVALID_JSON_BODY:
    'the body is no JSON; or it has the key `__proto__`, or `constructor` with a `prototype`, which no object may have.',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'the body does not have the length that its header says.',
  FST_ERR_BAD_URL: 'the address is not written as addresses are.',
}

/** A request has room for a hundred thousand wrong values. Who mends these asks again for the others. */
const errorsMost = 20

export function ofThrown(thrown: unknown): ThrownProblem {
  if (thrown instanceof WrongRequest) return ofIssues(thrown)
  const { statusCode, code = '', message } = Object(thrown) as FastifyError
  if (code.startsWith('FST_') && statusCode !== undefined && statusCode < 500)
    return {
      problem: problem(statusCode, codes[statusCode] ?? 'request_malformed', sentences[code] ?? sentenceOf(message)),
      isFault: false,
    }
  return problemOf(thrown)
}

function ofIssues({ issues, validationContext = 'body' }: WrongRequest): ThrownProblem {
  const part = parts[validationContext] ?? validationContext
  const errors = issues.slice(0, errorsMost).map(
    (issue): FieldProblem => ({
      pointer: ['', part, ...issue.path].join('/'),
      message: oneLine(messageOf(issue)),
    }),
  )
  const [first] = errors
  const more = issues.length > 1 ? `; and ${issues.length - 1} more` : ''
  const detail = `${first?.pointer.slice(1).replaceAll('/', '.')}: ${first?.message}${more}.`
  return { problem: problem(400, 'input_invalid', detail, { errors }), isFault: false }
}

function sentenceOf(message: string): string {
  return `the request cannot be read: ${message.replace(/\.?$/, '.')}`
}
