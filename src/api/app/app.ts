/**
 * Duty: the HTTP server without its port: plugins, the checks of each request in their order, the routes, and the form of errors.
 * Owns: the order of the checks. Does not own: the checks (guard/), the routes (routes/), how streams are written (stream/).
 * APP-1 The order is: host and origin, address, caller and right, rate, body, schema, handler. The caller is told of the check that fails first.
 * APP-2 No route can be added without a right: the server would not start.
 */
import { type IncomingMessage, STATUS_CODES } from 'node:http'
import rateLimit from '@fastify/rate-limit'
import {
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  fastify,
  type RouteOptions,
} from 'fastify'
import { stackCharsMax, stackOf } from '../../core/code-place.ts'
import type { WorkerLog } from '../../core/definition/worker-log.ts'
import { InvariantError, toRuntimeError } from '../../core/errors.ts'
import { callerOf, nobody } from '../guard/access.ts'
import { replyHeaders } from '../guard/headers.ts'
import { bodyBytesMax, readJsonAlone } from '../guard/json-body.ts'
import { checkOrigin } from '../guard/origin.ts'
import type { Caller, Right } from '../guard/rights.ts'
import { openApiDocument } from '../openapi.ts'
import { ApiError, type HttpCode, problem } from '../problem.ts'
import { routes as allRoutes } from '../routes.ts'
import type { AppSettings } from './app-settings.ts'
import { addPage } from './page.ts'
import { ofThrown } from './refusal.ts'
import { checkRequestPart } from './request-schema.ts'
import { optionsOf } from './route-options.ts'

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller
  }
  interface FastifyContextConfig {
    /** The right that the route needs. */
    right?: Right | 'open'
    /** True for a stream, which takes a ticket in place of a token. */
    takesTicket?: boolean
  }
}

const urlCharsMax = 8_192
const headerBytesMax = 16_384
/** A request that takes longer than this to arrive is closed. */
const arriveMsMax = 8_000

/** These stand in place of fastify's own compilers, which make code of JSON Schema. Those are not even loaded, and fastify's types know no others. */
const schemaController = {
  compilersFactory: {
    buildValidator: () => checkRequestPart,
    buildSerializer: () => () => (value: unknown) => JSON.stringify(value),
  },
} as unknown as NonNullable<FastifyServerOptions['schemaController']>

export async function buildApp(settings: AppSettings): Promise<FastifyInstance> {
  const app = fastify({
    logger: false,
    bodyLimit: bodyBytesMax,
    exposeHeadRoutes: false,
    forceCloseConnections: true,
    requestTimeout: arriveMsMax,
    return503OnClosing: false,
    routerOptions: { maxParamLength: urlCharsMax },
    schemaController,
    // A request whose address cannot be read meets no hook.
    frameworkErrors: (thrown, request, reply) => answerError(thrown, request, reply, settings.log),
    http: { maxHeaderSize: headerBytesMax, headersTimeout: arriveMsMax, connectionsCheckingInterval: 1_000 },
    clientErrorHandler: closeWith400,
  })
  readJsonAlone(app)
  app.decorateRequest('caller', null as never)
  app.addHook('onRoute', refuseWithoutRight)
  app.addHook('onRequest', async (request, reply) => checkRequest(request, reply, settings))
  app.addHook('onResponse', async (request, reply) => logRequest(request, reply, settings.log))
  app.setErrorHandler((thrown, request, reply) => answerError(thrown, request, reply, settings.log))
  await app.register(rateLimit, {
    max: settings.rate,
    timeWindow: 10_000,
    // One stranger who asks all the time must not keep the others from /readyz. (Names of tokens have no slash.)
    keyGenerator: ({ caller, ip }) => (caller === nobody ? `nobody/${ip}` : caller.name),
    errorResponseBuilder: (_, { after }) =>
      new ApiError(429, 'too_many_requests', `this caller has sent too many requests: try again in ${after}.`),
  })
  const routes = settings.routes ?? allRoutes
  settings.server.document = openApiDocument(routes)
  for (const one of routes) app.route(optionsOf(one, settings))
  await addPage(app, settings.page)
  return app
}

function refuseWithoutRight({ config, method, url }: RouteOptions): void {
  if (config?.right === undefined)
    throw new InvariantError(`route ${String(method)} ${url} does not say who may call it`)
}

/** The checks of APP-1, up to the caller. A route that does not exist needs the right to read, so that nobody can try out addresses. */
function checkRequest(request: FastifyRequest, reply: FastifyReply, { hosts, tokens, server }: AppSettings): void {
  reply.headers(replyHeaders)
  request.caller = nobody
  checkOrigin(request.raw, hosts, request.routeOptions.config.right === 'open')
  if ((request.raw.url ?? '').length > urlCharsMax)
    throw new ApiError(414, 'request_too_large', `an address may have ${urlCharsMax} characters at most.`)
  const { right = 'read', takesTicket = false } = request.routeOptions.config
  if (right === 'open') return
  const { ticket } = request.query as { readonly ticket?: unknown }
  const given = takesTicket && typeof ticket === 'string' ? ticket : undefined
  request.caller = callerOf(tokens, server.tickets, request.raw, {
    right: right,
    ticket: given,
    path: pathOf(request.raw),
  })
}

function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?', 1)[0] as string
}

/** The log gets the address without its query, which may hold a ticket. */
function logRequest(request: FastifyRequest, reply: FastifyReply, log: WorkerLog): void {
  const { method, caller, routeOptions } = request
  if (routeOptions.config.right === 'open') return
  log.debug('answered a request', {
    method,
    path: pathOf(request.raw),
    status: reply.statusCode,
    ms: Math.round(reply.elapsedTime),
    caller: caller.name,
  })
}

function answerError(thrown: unknown, request: FastifyRequest, reply: FastifyReply, log: WorkerLog): void {
  const { problem, isFault } = ofThrown(thrown)
  if (isFault)
    log.error('a request failed with an unexpected error', {
      id: problem.id,
      method: request.method,
      path: pathOf(request.raw),
      error: toRuntimeError(thrown).message,
      stack: stackOf(thrown)?.slice(0, stackCharsMax),
    })
  // An error in the place of a file must not be kept as long as that file would be.
  reply.headers(replyHeaders)
  if (thrown instanceof ApiError) reply.headers(thrown.headers)
  if (problem.status === 401) reply.header('www-authenticate', 'Bearer')
  if (problem.status === 503) reply.header('retry-after', '1')
  reply.code(problem.status).type('application/problem+json').send(JSON.stringify(problem))
}

function refusalOf(code: string | undefined): { status: number; code: HttpCode; detail: string } {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return { status: 431, code: 'request_too_large', detail: `the headers have more than ${headerBytesMax} bytes.` }
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return {
        status: 408,
        code: 'request_malformed',
        detail: `the request took more than ${arriveMsMax} ms to arrive.`,
      }
    default:
      return { status: 400, code: 'request_malformed', detail: 'this is no request of HTTP that the server reads.' }
  }
}

/** Closes a connection whose bytes are no HTTP request, or came too slowly. */
function closeWith400(error: Error & { readonly code?: string }, socket: import('node:net').Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const { status, code, detail } = refusalOf(error.code)
  const body = JSON.stringify(problem(status, code, detail))
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/problem+json\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  )
}
