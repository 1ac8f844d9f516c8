/** Duty: the routes that stream events. */
import { z } from 'zod'
import { isEventId, type TroupeEvent } from '../../core/event/event.ts'
import { replyHeaders } from '../guard/headers.ts'
import { ApiError } from '../problem.ts'
import { route } from '../route.ts'
import { sessionParams, yesOrNo } from '../schemas/parts.ts'
import { followSession as follow } from '../stream/session-stream.ts'
import { SseWriter } from '../stream/sse.ts'

const tag = 'events'
const stream = z.string().describe('Server-sent events; the data of each is an event as JSON.')
const eventId = z
  .string()
  .max(64)
  .refine(isEventId, { error: 'must be the id of an event, or 0-0 for all that are kept' })

export const followSession = route({
  id: 'followSession',
  method: 'GET',
  path: '/v1/sessions/:id/events',
  right: 'read',
  tag,
  summary: 'Follow a session (SSE)',
  description:
    'Ends after the event that ends the session. `Last-Event-ID`, or `after`, resumes behind an event: each later stored event comes once.',
  params: sessionParams,
  query: z.strictObject({
    after: eventId
      .optional()
      .describe('Past events after this one come first; 0-0: all that are kept. Default: events from now on.'),
    types: z
      .string()
      .max(1_000)
      .optional()
      .describe('Only events of these types, with commas between them: `run.completed,tool.*`.'),
    transient: yesOrNo.optional().describe('false: no deltas, states and logs. Default: true.'),
    ticket: z.string().max(100).optional(),
  }),
  replies: { 200: stream },
  raw: 'text/event-stream',
  cli: { command: 'session follow' },
  async handle({ troupe, params, query, request, reply, signal }) {
    const session = troupe.sessions.get(params.id)
    const after = lastEventId(request.headers['last-event-id']) ?? query.after
    // What is wrong must be told while the reply can still say it.
    await session.summary()
    reply.hijack()
    using writer = new SseWriter(reply.raw, replyHeaders)
    const wants = wantedTypes(query.types)
    await follow(session, writer, { after, transient: query.transient !== 'false', wants }, signal)
  },
})

function lastEventId(header: string | string[] | undefined): string | undefined {
  if (header === undefined || header === '') return undefined
  if (!isEventId(header)) throw new ApiError(400, 'request_malformed', 'Last-Event-ID must be the id of an event.')
  return header
}

function wantedTypes(types: string | undefined): (event: TroupeEvent) => boolean {
  if (types === undefined) return () => true
  const names = types.split(',').map((name) => name.trim())
  const exact = new Set(names)
  const groups = names.filter((name) => name.endsWith('.*')).map((name) => name.slice(0, -1))
  return ({ type }) => exact.has(type) || groups.some((group) => type.startsWith(group))
}
