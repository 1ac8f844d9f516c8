/** Duty: the routes that create, find, show and end sessions. */
import { z } from 'zod'
import type { Session } from '../../client/session/session.ts'
import type { RunResult } from '../../core/history/entry.ts'
import { withAway } from '../away.ts'
import { giveToNew } from '../guard/allowance.ts'
import { underCeiling } from '../guard/ceiling.ts'
import { waited } from '../prefer.ts'
import { Answer, type Call, route } from '../route.ts'
import { away, count, kind, sessionId, sessionParams } from '../schemas/parts.ts'
import { createBody, created, listedSession, listedState, report, runResult } from '../schemas/session.ts'

const tag = 'sessions'

export const listSessions = route({
  id: 'listSessions',
  method: 'GET',
  path: '/v1/sessions',
  right: 'read',
  tag,
  summary: 'Sessions, newest first',
  description:
    'A page may have fewer sessions than its limit, or none, and a next one: each looks at some thousands of sessions at most.',
  query: z.strictObject({
    state: listedState.optional(),
    kind: kind.optional(),
    name: z.string().min(1).max(64).optional().describe('A part of the name, in capitals or not.'),
    cursor: sessionId.optional().describe('`nextCursor` of the page before.'),
    limit: count(500).optional().describe('Default 50.'),
  }),
  replies: { 200: z.object({ sessions: z.array(listedSession), nextCursor: z.string().nullable(), away }) },
  cli: { command: 'session list' },
  handle: ({ troupe, query: { cursor, limit = 50, ...wanted } }) =>
    withAway(async (onAway) => {
      const { sessions, next } = await troupe.sessions.page({ ...wanted, before: cursor, limit, onAway })
      return { sessions, nextCursor: next }
    }),
})

export const createSession = route({
  id: 'createSession',
  method: 'POST',
  path: '/v1/sessions',
  right: 'operate',
  tag,
  summary: 'Create a session',
  description:
    'With the header `Prefer: wait=30` it waits so many seconds, at most 60, for the result of the run, and answers 200 with it, else 202. The same `Idempotency-Key` gives the same session again.',
  body: createBody,
  prefers: true,
  replies: { 200: created, 202: created },
  cli: { command: 'submit' },
  async ceiling(call) {
    const body = underCeiling(call.caller, call.body)
    await giveToNew(call, body.limits)
    return body
  },
  async handle(call) {
    const { troupe, body, idempotencyKey } = call
    const session = await troupe.sessions.create({ ...body, ...(idempotencyKey !== undefined && { idempotencyKey }) })
    const { id, rootId, warning } = session
    return createdAnswer(call, session, { sessionId: id, workerId: rootId, warning })
  },
  // A caller that waited and got no result repeats the request to wait once more.
  repeated(call, first) {
    if (first.status !== 202) return first
    const known = first.body as CreatedSession
    return createdAnswer(call, call.troupe.sessions.get(known.sessionId), known)
  },
})

interface CreatedSession {
  readonly sessionId: string
  readonly workerId: string
  readonly warning: string | null
}

/** Waits for the result as long as the caller prefers. */
async function createdAnswer(
  call: Pick<Call, 'request' | 'signal'>,
  session: Session,
  answer: CreatedSession,
): Promise<Answer> {
  const headers = { location: `/v1/sessions/${answer.sessionId}` }
  const seconds = waited(call.request.headers.prefer)
  if (seconds === undefined) return new Answer(202, answer, headers)
  const result = await resultWithin(session, seconds, call)
  const told = { ...headers, 'preference-applied': `wait=${seconds}` }
  return result === undefined ? new Answer(202, answer, told) : new Answer(200, { ...answer, result }, told)
}

/** Undefined if the run has not ended by then. It looks once, even if the time is 0. */
async function resultWithin(
  session: Session,
  seconds: number,
  { signal }: Pick<Call, 'signal'>,
  run?: number,
): Promise<RunResult | undefined> {
  const ended = await session.endedResult({ run })
  if (ended !== undefined || seconds === 0) return ended
  const late = AbortSignal.timeout(seconds * 1_000)
  try {
    return await session.result({ run, signal: AbortSignal.any([signal, late]) })
  } catch (thrown) {
    if (late.aborted && thrown === late.reason) return undefined
    throw thrown
  }
}

export const showSession = route({
  id: 'showSession',
  method: 'GET',
  path: '/v1/sessions/:id',
  right: 'read',
  tag,
  summary: 'A session with all its workers, and why it does not go on',
  params: sessionParams,
  replies: { 200: report },
  cli: { command: 'session show' },
  handle: ({ troupe, params }) => troupe.sessions.get(params.id).report(),
})

export const sessionResult = route({
  id: 'sessionResult',
  method: 'GET',
  path: '/v1/sessions/:id/result',
  right: 'read',
  tag,
  summary: 'The result of a run, or 202 if it has not ended',
  params: sessionParams,
  query: z.strictObject({
    wait: z.coerce.number().int().min(0).max(60).optional().describe('Seconds to wait for it. Default 0.'),
    run: count(Number.MAX_SAFE_INTEGER).optional().describe('Default: the run in progress, or the last.'),
  }),
  replies: { 200: runResult, 202: z.object({ status: z.literal('running') }) },
  cli: { command: 'session result' },
  async handle(call) {
    const { troupe, params, query } = call
    const session = troupe.sessions.get(params.id)
    const result = await resultWithin(session, query.wait ?? 0, call, query.run)
    return result ?? new Answer(202, { status: 'running' }, { 'retry-after': '1' })
  },
})
