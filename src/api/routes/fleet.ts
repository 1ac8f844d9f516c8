/** Duty: the routes that concern the whole namespace. */
import { z } from 'zod'
import { judge } from '../../client/health/findings.ts'
import { listedStates } from '../../client/session/session-state.ts'
import { findingText } from '../../words/finding-text.ts'
import { Answer, route } from '../route.ts'
import { audit, finding, kindSummary, node, nodeId, nodeReport, releasedNode } from '../schemas/fleet.ts'
import { reason, sessionId, yesOrNo } from '../schemas/parts.ts'

const tag = 'fleet'
const read = { method: 'GET', right: 'read', tag } as const

export const listNodes = route({
  ...read,
  id: 'listNodes',
  path: '/v1/nodes',
  summary: 'The live nodes',
  query: z.strictObject({
    stalled: yesOrNo
      .optional()
      .describe('true: also those that stand still, or died without a word, until they are forgotten.'),
  }),
  replies: { 200: z.object({ nodes: z.array(node) }) },
  cli: { command: 'node list' },
  handle: async ({ troupe, query }) => ({ nodes: await troupe.nodes({ stalled: query.stalled === 'true' }) }),
})

const oneNode = z.strictObject({ id: nodeId })

export const showNode = route({
  ...read,
  id: 'showNode',
  path: '/v1/nodes/:id',
  summary: 'One node, and the workers that it runs',
  params: oneNode,
  replies: { 200: nodeReport },
  cli: { command: 'node show' },
  handle: ({ troupe, params }) => troupe.node(params.id).report(),
})

export const listKinds = route({
  ...read,
  id: 'listKinds',
  path: '/v1/kinds',
  summary: 'The kinds that nodes have registered',
  replies: { 200: z.object({ kinds: z.array(kindSummary) }) },
  cli: { command: 'kinds' },
  handle: async ({ troupe }) => ({ kinds: await troupe.kinds() }),
})

export const showHealth = route({
  ...read,
  id: 'showHealth',
  path: '/v1/health',
  summary: 'What `troupe doctor` finds',
  replies: {
    200: z.object({
      findings: z.array(finding),
      pools: z.array(
        z.object({
          pool: z.string(),
          queued: z.number(),
          oldestMs: z.number().nullable(),
          wakeups: z.number(),
          busy: z.number(),
        }),
      ),
      running: z.number(),
      timers: z.number(),
      paused: z.object({ why: z.string().optional(), by: z.string().optional(), at: z.number() }).nullable(),
    }),
  },
  cli: { command: 'doctor' },
  async handle({ troupe }) {
    const health = await troupe.health()
    const { pools, running, timers, paused } = health
    const findings = judge(health).map((one) => ({ ...one, ...findingText(one) }))
    return { findings, pools, running, timers, paused }
  },
})

export const countSessions = route({
  ...read,
  id: 'countSessions',
  path: '/v1/counts',
  summary: 'How many sessions are in each state',
  description: 'Reads the records of all sessions.',
  replies: {
    200: z.object({
      sessions: z.object(Object.fromEntries(listedStates.map((state) => [state, z.number()]))),
    }),
  },
  cli: { none: '`session list` shows the sessions themselves' },
  handle: async ({ troupe }) => ({ sessions: await troupe.sessions.counts() }),
})

export const showAudit = route({
  ...read,
  id: 'showAudit',
  path: '/v1/audit',
  summary: 'The last audit of this server, and whether one runs',
  replies: { 200: audit },
  asksRedis: false,
  cli: { command: 'audit' },
  handle: ({ server }) => server.audits.view,
})

export const startAudit = route({
  id: 'startAudit',
  method: 'POST',
  path: '/v1/audit',
  right: 'operate',
  tag,
  summary: 'Begin an audit; GET /v1/audit has what came of it',
  description: 'It writes nothing. One audit runs at a time: while one does, the answer is about that one.',
  body: z.strictObject({ session: sessionId.optional() }).optional(),
  replies: { 202: audit },
  changes: false,
  cli: { command: 'audit' },
  handle: ({ troupe, server, body }) =>
    new Answer(202, server.audits.begin(troupe, body?.session), { location: '/v1/audit' }),
})

const all = { method: 'POST', right: 'admin', tag } as const

export const releaseNode = route({
  ...all,
  id: 'releaseNode',
  path: '/v1/nodes/:id/release',
  summary: 'Give the work of a node that stands still to other nodes, now and not when its leases end',
  description: 'A node that reports is refused with `transition_illegal`. What the node commits later is refused.',
  params: oneNode,
  body: z.strictObject({ reason: reason.optional() }).optional(),
  replies: { 200: releasedNode },
  cli: { command: 'node release' },
  handle: ({ troupe, params, body }) => troupe.node(params.id).release(body?.reason),
})

export const pauseAll = route({
  ...all,
  id: 'pauseAll',
  path: '/v1/pause',
  summary: 'Pause all sessions of the namespace: no node takes up work',
  body: z.strictObject({ reason: reason.optional() }).optional(),
  replies: { 200: z.object({ paused: z.literal(true) }) },
  cli: { command: 'pause' },
  async handle({ troupe, body }) {
    await troupe.pause(body?.reason)
    return { paused: true }
  },
})

export const resumeAll = route({
  ...all,
  id: 'resumeAll',
  path: '/v1/resume',
  summary: 'End the pause of all sessions',
  replies: { 200: z.object({ paused: z.literal(false) }) },
  cli: { command: 'resume' },
  async handle({ troupe }) {
    await troupe.resume()
    return { paused: false }
  },
})
