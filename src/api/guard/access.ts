/**
 * Duty: decide who calls, and whether they may.
 * ACCESS-1 Without tokens only callers on this machine reach the server, and they may do everything. As soon as there is a token, every route needs one.
 * ACCESS-2 A caller without a valid token gets 401, one without the right 403, whatever else is wrong with the request.
 */
import type { IncomingMessage } from 'node:http'
import { ApiError } from '../problem.ts'
import { type Caller, mayDo, type Right } from './rights.ts'
import type { Tickets } from './tickets.ts'
import type { Tokens } from './tokens.ts'

const localCaller: Caller = { name: 'local', rights: ['admin'] }

/** The caller of a route that is open, if nobody has authenticated. */
export const nobody: Caller = { name: 'nobody', rights: [] }

/**
 * `tokens`: null if none is needed. `ticket`: the one in the query. `path`: the path of the request, without its query. Throws an ApiError for a
 * caller who may not.
 */
export function callerOf(
  tokens: Tokens | null,
  tickets: Tickets,
  { headers }: IncomingMessage,
  { right, ticket, path }: { readonly right: Right; readonly ticket: string | undefined; readonly path: string },
): Caller {
  if (tokens === null) return localCaller
  const caller = ticket === undefined ? bearer(tokens, headers.authorization) : tickets.take(ticket, path)
  if (caller === undefined || !tokens.knows(caller))
    throw new ApiError(401, 'token_unknown', 'nobody has this token: check it, and its file on the server.')
  if (!mayDo(caller.rights, right))
    throw new ApiError(
      403,
      'right_missing',
      `token "${caller.name}" has the right ${caller.rights.join(', ')}, and this needs ${right}.`,
    )
  return caller
}

function bearer(tokens: Tokens, authorization: string | undefined): Caller | undefined {
  const [, token] = /^Bearer +(\S+)$/i.exec(authorization ?? '') ?? []
  if (token === undefined)
    throw new ApiError(
      401,
      'token_missing',
      'this server needs a token: send the header `Authorization: Bearer <token>`.',
    )
  return tokens.callerOf(token)
}
