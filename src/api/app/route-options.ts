/** Duty: make a route of fastify from a record (route.ts): its schemas, its right, and the call that its handler gets. */
import type { FastifyReply, FastifyRequest, RouteOptions } from 'fastify'
import { z } from 'zod'
import type { Troupe } from '../../client/client.ts'
import { CancelledError, InvariantError, NotFoundError } from '../../core/errors.ts'
import { ApiError } from '../problem.ts'
import { Answer, type Call, type Route } from '../route.ts'
import type { Server } from '../server.ts'
import type { AppSettings } from './app-settings.ts'

const nothing = z.strictObject({})

export function optionsOf(one: Route, settings: AppSettings): RouteOptions {
  const { id, method, path, right, params, query, body, raw } = one
  const changes = one.changes ?? method !== 'GET'
  const { ceiling } = one
  if (changes && right === 'operate' && ceiling === undefined)
    throw new InvariantError(`route ${id} does not say what a ceiling forbids in it`)
  return {
    method,
    url: path,
    // HEAD answers like GET, without the body; for it, a stream or a file would be made for nothing.
    exposeHeadRoute: method === 'GET' && raw === undefined,
    config: { right, takesTicket: raw === 'text/event-stream' },
    schema: {
      ...(params !== undefined && { params }),
      querystring: query ?? nothing,
      ...(method !== 'GET' && { body: body ?? nothing.optional() }),
    },
    handler: async (request, reply) => {
      const { server } = settings
      if (changes && server.isReadOnly)
        throw new ApiError(403, 'right_missing', 'this server was started with --read-only, and changes nothing.')
      const key = changes ? keyOf(request) : undefined
      const called = () => callOf(request, reply, settings, { ...one, changes })
      let isFirst = key === undefined
      const answering = async () => {
        isFirst = true
        return one.handle(await underItsCeiling(await called(), ceiling))
      }
      const asked = [method, request.url, request.body]
      const knowing = () => answering().catch((error) => onceKnown(error, server, answering))
      const first = await (key === undefined ? knowing() : server.answers.once(`${id} ${key}`, asked, knowing))
      const isRepeated = !isFirst && first instanceof Answer && one.repeated !== undefined
      const answer = isRepeated ? await one.repeated?.(await called(), first) : first
      if (raw !== undefined) return reply
      if (answer instanceof Answer) return reply.code(answer.status).headers(answer.headers).send(answer.body)
      return answer === undefined ? reply.code(204).send() : reply.send(answer)
    },
  }
}

/** Repeats a call that did nothing because it named an id of a partition that this server does not know: the partition may be new. */
async function onceKnown<T>(error: unknown, server: Server, again: () => Promise<T>): Promise<T> {
  if (!(error instanceof NotFoundError) || error.details.partition === undefined) throw error
  await server.lookForPartitions()
  return again()
}

/** The call, with no more than the ceiling of its caller allows. */
async function underItsCeiling(call: Call, ceiling: Route['ceiling']): Promise<Call> {
  if (call.caller.ceiling === undefined || typeof ceiling !== 'function') return call
  const body = await ceiling(call)
  // The call is not spread, because its signal is made when somebody asks for it.
  return body === undefined ? call : Object.create(call, { body: { value: body, enumerable: true } })
}

async function callOf(
  request: FastifyRequest,
  reply: FastifyReply,
  { server }: AppSettings,
  { changes, asksRedis = true }: { readonly changes: boolean; readonly asksRedis?: boolean },
): Promise<Call> {
  const { caller } = request
  let signal: AbortSignal | undefined
  return {
    params: request.params as never,
    query: request.query as never,
    body: request.body as never,
    caller,
    server,
    request,
    reply,
    troupe: (asksRedis ? await (changes ? server.acting(caller.name) : server.reading()) : undefined) as Troupe,
    idempotencyKey: keyOf(request),
    get signal() {
      signal ??= AbortSignal.any([server.stopping, goneSignal(reply)])
      return signal
    },
  }
}

/** The same key of two callers counts as two keys, and neither is a key of the library or of the command line. */
function keyOf({ headers, caller }: FastifyRequest): string | undefined {
  const key = headers['idempotency-key']
  if (key === undefined) return undefined
  if (typeof key !== 'string' || !/^[\x21-\x7e]{1,255}$/.test(key))
    throw new ApiError(400, 'request_malformed', 'Idempotency-Key takes 1 to 255 visible characters of ASCII.')
  return `http/${caller.name}/${key}`
}

function goneSignal({ raw }: FastifyReply): AbortSignal {
  const gone = new AbortController()
  const abort = () => gone.abort(new CancelledError('the caller has gone.'))
  // If the caller has gone while a client was opened, no event says so any more.
  if (raw.destroyed) abort()
  else raw.once('close', abort)
  return gone.signal
}
