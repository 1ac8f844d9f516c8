/** Duty: the route that gives tickets for streams. */
import { z } from 'zod'
import { ApiError } from '../problem.ts'
import { Answer, route } from '../route.ts'

export const giveTicket = route({
  id: 'createTicket',
  method: 'POST',
  path: '/v1/tickets',
  right: 'read',
  tag: 'server',
  summary: 'A ticket that opens one stream once, within 30 s',
  description:
    'For programs that can send no header with a stream, such as EventSource of a browser: add `?ticket=…` to the address of the stream.',
  body: z.strictObject({
    path: z.string().regex(/^\/v1\/[a-z0-9/-]{1,100}$/, 'must be the address of a stream without its query'),
  }),
  replies: { 201: z.object({ ticket: z.string(), expiresAt: z.number() }) },
  asksRedis: false,
  changes: false,
  cli: { none: 'the command line needs no ticket' },
  handle({ body, caller, server }) {
    if (!body.path.endsWith('/events'))
      throw new ApiError(
        400,
        'request_malformed',
        'only an address of a stream takes a ticket: one that ends with /events.',
      )
    return new Answer(201, server.tickets.give(caller, body.path))
  },
})
