/** Duty: the routes that stream events. */
import { z } from 'zod'
import { Troupe } from '../../client/client.ts'
import { Session } from '../../client/session/session.ts'
import { NotFoundError } from '../../core/errors.ts'
import { isEventId } from '../../core/event/event.ts'
import { ApiError } from '../problem.ts'
import { type Call, route } from '../route.ts'
import { count, sessionParams, workerId, yesOrNo } from '../schemas/parts.ts'
import { answerWithStream } from '../stream/answer-with-stream.ts'
import { eventJson } from '../stream/event-json.ts'
import { HistoryFeed } from '../stream/history-feed.ts'
import { beginOfTail, streamSession, type Wants, wantsTypes, wantsUnder } from '../stream/session-stream.ts'

const tag = 'events'
const stream = z.string().describe('Server-sent events; the data of each is an event as JSON.')
const eventId = z
  .string()
  .max(64)
  .refine(isEventId, { error: 'must be the id of an event, or 0-0 for all that are kept' })
/** An id for each partition: about 20 characters. All headers together have 16 KiB. */
const positionCharsMax = 16_000
const fleetPosition = z
  .string()
  .max(positionCharsMax)
  .refine((text) => text.split(',').every(isEventId), { error: 'must be the id of an event of this stream' })
const allOrWorker = z.string().refine((text) => text === 'all' || workerId.safeParse(text).success, {
  error: 'must be `all`, or the id of a worker',
})
const types = z
  .string()
  .max(1_000)
  .optional()
  .describe('Only events of these types, with commas between them: `run.completed,tool.*`.')
const ticket = z.string().max(100).optional().describe('In place of a token: POST /v1/tickets.')

const sessionQuery = z.strictObject({
  after: eventId
    .optional()
    .describe('Past events behind this one come first; 0-0: all that are kept. Default: events from now on.'),
  tail: count(10_000).optional().describe('How many of the last stored events come first. Not with `after`.'),
  follow: yesOrNo.optional().describe('false: past events alone; then the stream ends. Default: true.'),
  limit: count(100_000).optional().describe('After how many events the stream ends.'),
  types,
  under: workerId.optional().describe('Only events of this worker, and of what it spawned at any depth.'),
  transient: yesOrNo.optional().describe('false: no deltas, states and logs. Default: true.'),
  history: allOrWorker
    .optional()
    .describe('Entries of histories come too, as `history.entry`: of all workers, or of one.'),
  historyAfter: z.coerce
    .number()
    .int()
    .min(-1)
    .max(Number.MAX_SAFE_INTEGER)
    .optional()
    .describe(
      'Entries behind this position come first. Default: those from now on; with `after`, and after a reconnection, all, also those that came before.',
    ),
  ticket,
})

export const followSession = route({
  id: 'followSession',
  method: 'GET',
  path: '/v1/sessions/:id/events',
  right: 'read',
  tag,
  summary: 'Follow a session (SSE)',
  description:
    'Ends after the event that ends the session. `Last-Event-ID` counts before `after`: each later stored event comes once. `events.trimmed` says that events are not kept any more, `events.dropped` that the caller read too slowly for some transient ones.',
  params: sessionParams,
  query: sessionQuery,
  replies: { 200: stream },
  raw: 'text/event-stream',
  cli: { command: 'session follow' },
  async handle(call) {
    const { troupe, params, query, request, signal } = call
    const session = troupe.sessions.get(params.id)
    const resumed = lastEventId(request.headers['last-event-id'])
    if (query.tail !== undefined && query.after !== undefined)
      throw new ApiError(400, 'request_malformed', 'a stream begins at `after` or at `tail`, not at both.')
    // An error in the query must be found while the reply can still report it.
    const wants = await wanted(session, query)
    const behind = resumed ?? query.after
    const newest = await Session.eventNow(session)
    const after = behind ?? (query.tail === undefined ? newest : await beginOfTail(session, query.tail, wants, signal))
    const sentTo = query.history === undefined ? undefined : await positions(session, query, behind)
    const only = query.history === 'all' ? undefined : query.history?.toLowerCase()
    const asked = { after, newest, transient: query.transient !== 'false', follow: query.follow !== 'false' }
    await answerWithStream(call, async (writer) => {
      writer.sendPosition(after)
      const histories = sentTo && new HistoryFeed(troupe, writer, signal, { only, sentTo })
      if (behind !== undefined || query.historyAfter !== undefined)
        for (const id of sentTo?.keys() ?? []) histories?.note(id)
      const readTo = await streamSession(
        session,
        writer,
        { ...asked, limit: query.limit ?? 0, wants, histories },
        signal,
      )
      // A reader that comes back goes on behind this position.
      if (readTo !== null) writer.sendPosition(readTo)
    })
  },
})

export const followFleet = route({
  id: 'followFleet',
  method: 'GET',
  path: '/v1/events',
  right: 'read',
  tag,
  summary: 'Follow the stored events of all sessions (SSE)',
  description:
    'The id of each is a position in all partitions: `Last-Event-ID` or `after` resumes behind it. Deltas, states and logs come with the stream of a session.',
  query: z.strictObject({
    after: fleetPosition.optional().describe('Past events behind this position come first; 0-0: all that are kept.'),
    limit: count(100_000).optional().describe('After how many events the stream ends.'),
    types,
    ticket,
  }),
  replies: { 200: stream },
  raw: 'text/event-stream',
  cli: { none: 'the command line follows one session' },
  async handle(call) {
    const { troupe, query, request, signal } = call
    const resumed = request.headers['last-event-id']
    const read = fleetPosition.optional().safeParse(resumed === '' ? undefined : resumed)
    if (!read.success)
      throw new ApiError(400, 'request_malformed', 'Last-Event-ID must be the id of an event of this stream.')
    const wants = wantsTypes(query.types)
    const after = await Troupe.fleetPosition(troupe, read.data ?? query.after)
    const events = troupe.events({ after, signal })
    await answerWithStream(call, async (writer) => {
      writer.sendPosition(after)
      let left = query.limit ?? 0
      for await (const { event, position } of events) {
        if (wants(event)) {
          writer.send({ id: position, type: event.type, json: eventJson(event) })
          if (--left === 0) break
        }
        if (writer.lags) await writer.drained(signal)
      }
    })
  },
})

function lastEventId(header: string | string[] | undefined): string | undefined {
  if (header === undefined || header === '') return undefined
  if (!isEventId(header)) throw new ApiError(400, 'request_malformed', 'Last-Event-ID must be the id of an event.')
  return header
}

type SessionQuery = Call<undefined, typeof sessionQuery>['query']

/** Throws if there is no such session, or if it has no such worker. */
async function wanted(session: Session, query: SessionQuery): Promise<Wants> {
  const ofTypes = wantsTypes(query.types)
  if (query.under === undefined) {
    await session.summary()
    return ofTypes
  }
  const { workers } = await session.report()
  const root = query.under.toLowerCase()
  if (!workers.some(({ id }) => id === root))
    throw new NotFoundError('worker_not_found', `session ${session.id} has no worker ${root}.`)
  const isUnder = wantsUnder(root, workers)
  // Both look at each event: a spawn must be noted even if its type is not wanted.
  return (event) => isUnder(event) && ofTypes(event)
}

/** Up to where the caller has each history. `behind`: the event behind which the stream goes on; no event says how far the histories were at that time. */
async function positions(
  session: Session,
  query: SessionQuery,
  behind: string | undefined,
): Promise<Map<string, number>> {
  const { workers } = await session.report()
  const asked = workers.filter(({ id }) => query.history === 'all' || query.history?.toLowerCase() === id)
  if (asked.length === 0)
    throw new NotFoundError('worker_not_found', `session ${session.id} has no worker ${query.history}.`)
  return new Map(
    asked.map(({ id, historyLength }) => [id, query.historyAfter ?? (behind === undefined ? historyLength - 1 : -1)]),
  )
}
