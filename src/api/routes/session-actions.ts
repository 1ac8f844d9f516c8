/** Duty: the routes that change a session that exists. */
import { z } from 'zod'
import { unknownDecisions } from '../../core/history/run/unknown-decision.ts'
import { approvalPolicies } from '../../core/worker/ask/session-approval.ts'
import { giveMore } from '../guard/allowance.ts'
import { checkLimits, refuseCopy } from '../guard/ceiling.ts'
import { Answer, route } from '../route.ts'
import { sent } from '../schemas/history.ts'
import { reason, sessionParams } from '../schemas/parts.ts'
import { created, givenSpending, sessionApproval } from '../schemas/session.ts'
import { spending } from '../schemas/worker.ts'
import { inputBody, sendTo } from './messages.ts'

const tag = 'sessions'
const why = z.strictObject({ reason: reason.optional() }).optional()
const operate = { method: 'POST', right: 'operate', tag, params: sessionParams } as const

export const cancelSession = route({
  ...operate,
  id: 'cancelSession',
  path: '/v1/sessions/:id/cancel',
  summary: 'Cancel a session: from now on nothing of it starts, spawns or commits',
  body: why,
  replies: { 202: z.object({ cancelled: z.boolean().describe('False: it had ended before, and keeps its state.') }) },
  cli: { command: 'session cancel' },
  ceiling: 'unneeded',
  async handle({ troupe, params, body }) {
    return new Answer(202, { cancelled: await troupe.sessions.get(params.id).cancel(body?.reason) })
  },
})

export const pauseSession = route({
  ...operate,
  id: 'pauseSession',
  path: '/v1/sessions/:id/pause',
  summary: 'Pause a session; answers once nothing of it begins any more',
  body: why,
  replies: { 200: z.object({ paused: z.literal(true) }) },
  cli: { command: 'session pause' },
  ceiling: 'unneeded',
  async handle({ troupe, params, body }) {
    await troupe.sessions.get(params.id).pause(body?.reason)
    return { paused: true }
  },
})

export const resumeSession = route({
  ...operate,
  id: 'resumeSession',
  path: '/v1/sessions/:id/resume',
  summary: 'Go on with a session that was paused',
  body: why,
  replies: { 200: z.object({ paused: z.literal(false) }) },
  cli: { command: 'session resume' },
  ceiling: 'unneeded',
  async handle({ troupe, params, body }) {
    await troupe.sessions.get(params.id).resume(body?.reason)
    return { paused: false }
  },
})

export const retrySession = route({
  ...operate,
  id: 'retrySession',
  path: '/v1/sessions/:id/retry',
  summary: 'Let a session that failed go on at its failed step',
  body: z
    .strictObject({
      unknown: z.enum(unknownDecisions).optional().describe('What became of calls whose outcome is unknown.'),
      limits: givenSpending.optional(),
    })
    .optional(),
  replies: { 200: z.object({ run: z.int(), step: z.string() }) },
  cli: { command: 'session retry' },
  async ceiling(call) {
    checkLimits(call.caller, call.body?.limits)
    await giveMore(call, call.params.id, call.body?.limits)
  },
  handle: ({ troupe, params, body }) => troupe.sessions.get(params.id).retry(body),
})

export const forkSession = route({
  ...operate,
  id: 'forkSession',
  path: '/v1/sessions/:id/fork',
  summary: 'Copy a session that goes on, with all its workers, as it is now; both go on',
  body: z
    .strictObject({ dryRun: z.boolean().optional().describe('Tools with effects are not run in the copy.') })
    .optional(),
  replies: { 201: created },
  cli: { command: 'session fork' },
  ceiling: refuseCopy,
  async handle({ troupe, params, body, idempotencyKey }) {
    const { id, rootId } = await troupe.sessions.get(params.id).fork({ ...body, idempotencyKey })
    return new Answer(201, { sessionId: id, workerId: rootId, warning: null }, { location: `/v1/sessions/${id}` })
  },
})

export const closeSession = route({
  ...operate,
  id: 'closeSession',
  path: '/v1/sessions/:id/close',
  summary: 'End a conversation once all its waiting messages are answered',
  replies: { 202: z.object({ closing: z.literal(true) }) },
  cli: { command: 'session close' },
  ceiling: 'unneeded',
  async handle({ troupe, params }) {
    await troupe.sessions.get(params.id).close()
    return new Answer(202, { closing: true })
  },
})

export const sendToSession = route({
  ...operate,
  id: 'sendToSession',
  path: '/v1/sessions/:id/messages',
  summary: 'Send a message to the first worker of a session',
  body: inputBody,
  replies: { 202: sent },
  cli: { command: 'send' },
  ceiling: 'unneeded',
  handle: (call) => sendTo(call.troupe.sessions.get(call.params.id).root, call),
})

export const limitSession = route({
  id: 'limitSession',
  method: 'PATCH',
  path: '/v1/sessions/:id/limits',
  right: 'operate',
  tag,
  summary: 'Change what all agents of a session may use together',
  params: sessionParams,
  body: givenSpending,
  replies: { 200: spending },
  cli: { command: 'session limit' },
  async ceiling(call) {
    checkLimits(call.caller, call.body)
    await giveMore(call, call.params.id, call.body)
  },
  handle: ({ troupe, params, body }) => troupe.sessions.get(params.id).limit(body),
})

export const setApproval = route({
  id: 'setApproval',
  method: 'PATCH',
  path: '/v1/sessions/:id/approval',
  right: 'decide',
  tag,
  summary: 'Set which tool calls of a session a person is asked about',
  description: 'Takes back all trust in tools. Asks that are open stay open.',
  params: sessionParams,
  body: z.strictObject({ policy: z.enum(approvalPolicies) }),
  replies: { 200: sessionApproval },
  cli: { command: 'session approval' },
  handle: ({ troupe, params, body }) => troupe.sessions.get(params.id).setApproval(body.policy),
})
