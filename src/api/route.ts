/**
 * Duty: the form of a route: one record that says its address, who may call it, what it takes and answers, and what it does.
 * ROUTE-1 Requests are checked against the schemas; a field that nobody knows is refused. Replies are not checked while they are sent: tests
 *         compare them with their schemas.
 * ROUTE-2 Every route names the right that it needs. `open` is for routes that say nothing about the namespace.
 * ROUTE-3 Every route that changes something under the right `operate` says what the ceiling of a token forbids in it, or that it forbids nothing:
 * otherwise the server does not start.
 */
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { Troupe } from '../client/client.ts'
import type { Caller, Right } from './guard/rights.ts'
import type { Server } from './server.ts'

export type Method = 'GET' | 'POST' | 'PATCH' | 'DELETE'

/** A schema; undefined if a request has no such part. */
type Part = z.ZodType | undefined
type Read<Schema extends Part> = Schema extends z.ZodType ? z.output<Schema> : undefined

export interface Call<Params extends Part = Part, Query extends Part = Part, Body extends Part = Part> {
  readonly params: Read<Params>
  readonly query: Read<Query>
  readonly body: Read<Body>
  /** A client that acts in the name of the caller. */
  readonly troupe: Troupe
  readonly caller: Caller
  /** The key in the header `Idempotency-Key`, made different for each caller. */
  readonly idempotencyKey: string | undefined
  /** Fires when the caller has gone, or the server stops. */
  readonly signal: AbortSignal
  readonly server: Server
  readonly request: FastifyRequest
  readonly reply: FastifyReply
}

/** A reply with another status than 200, or with headers. */
export class Answer {
  readonly status: number
  readonly body: unknown
  readonly headers: Readonly<Record<string, string>>
  constructor(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}) {
    this.status = status
    this.body = body
    this.headers = headers
  }
}

/** The command that does the same; or why there is none. */
export type CliPart = { readonly command: string } | { readonly none: string }

/**
 * Checks what a token with a ceiling asks for (guard/ceiling.ts), and throws if that is too much. The value that it returns takes the place of the body.
 * `unneeded`: the route gives nobody more than exists already.
 */
export type CeilingPart<Params extends Part = Part, Query extends Part = Part, Body extends Part = Part> =
  | ((call: Call<Params, Query, Body>) => unknown)
  | 'unneeded'

export interface Route<Params extends Part = Part, Query extends Part = Part, Body extends Part = Part> {
  /** Its name in the OpenAPI document, unique: `listSessions`. */
  readonly id: string
  readonly method: Method
  /** The path, with `:name` for parameters. */
  readonly path: string
  readonly right: Right | 'open'
  readonly tag: string
  readonly summary: string
  readonly description?: string
  readonly params?: Params
  readonly query?: Query
  readonly body?: Body
  /** The schemas of replies, by status. A route without a status from 200 to 299 answers 204. */
  readonly replies: Readonly<Record<number, z.ZodType>>
  /** Set if the route writes the reply itself: a stream, a page, a text of this type. */
  readonly raw?: string
  readonly cli: CliPart
  readonly ceiling?: CeilingPart<Params, Query, Body>
  /** False: the route needs no Redis, and must not use its `troupe`. Default: true. */
  readonly asksRedis?: boolean
  /** True: the route reads the header `Prefer`. */
  readonly prefers?: boolean
  /** What a request that is repeated under its key answers, in place of the first answer. Default: that answer. */
  repeated?(call: Call<Params, Query, Body>, first: Answer): unknown
  /** False: the route changes nothing although it is no GET. */
  readonly changes?: boolean
  handle(call: Call<Params, Query, Body>): unknown
}

/** Gives the types of the schemas to the handler, and then forgets them, so that routes fit into one list. */
export function route<Params extends Part = undefined, Query extends Part = undefined, Body extends Part = undefined>(
  one: Route<Params, Query, Body>,
): Route {
  return one
}
