/** Duty: the routes of what waits for people: asks and approvals. */
import { z } from 'zod'
import type { Troupe } from '../../client/client.ts'
import type { Decided } from '../../client/person/approvals.ts'
import { ConflictError } from '../../core/errors.ts'
import { askSorts, askStates } from '../../core/worker/ask/ask.ts'
import { ofThrown } from '../app/refusal.ts'
import { withAway } from '../away.ts'
import { ApiError } from '../problem.ts'
import { route } from '../route.ts'
import { askId, away, count, json, kind, reason, sessionId } from '../schemas/parts.ts'
import { answered, approval, ask, choice, decided } from '../schemas/person.ts'
import { problemSchema } from '../schemas/problem.ts'

const tag = 'people'
const read = { method: 'GET', right: 'read', tag } as const
const deciding = { method: 'POST', right: 'decide', tag } as const
const oneAsk = z.strictObject({ id: askId })
const inbox = {
  session: sessionId.optional(),
  workerKind: kind.optional(),
  state: z
    .enum([...askStates, 'any'])
    .optional()
    .describe('Default: open. Others only with `session`.'),
  cursor: askId.optional().describe('`nextCursor` of the page before.'),
  limit: count(1_000).optional().describe('Default 50.'),
}

export const listAsks = route({
  ...read,
  id: 'listAsks',
  path: '/v1/asks',
  summary: 'What workers ask of somebody outside, the oldest first',
  query: z.strictObject({ ...inbox, kind: z.enum(askSorts).optional() }),
  replies: { 200: z.object({ asks: z.array(ask), nextCursor: z.string().nullable(), away }) },
  cli: { command: 'ask list' },
  handle: ({ troupe, query: { session, cursor, limit = 50, ...wanted } }) =>
    withAway(async (onAway) => {
      const asks = await troupe.asks.list({ ...wanted, sessionId: session, after: cursor, limit, onAway })
      return { asks, nextCursor: nextOf(asks, limit) }
    }),
})

function nextOf(page: readonly { readonly id: string }[], limit: number): string | null {
  return page.length < limit ? null : (page.at(-1)?.id ?? null)
}

export const showAsk = route({
  ...read,
  id: 'showAsk',
  path: '/v1/asks/:id',
  summary: 'One ask, in any state',
  params: oneAsk,
  replies: { 200: ask },
  cli: { command: 'ask show' },
  handle: ({ troupe, params }) => troupe.asks.get(params.id),
})

export const answerAsk = route({
  ...deciding,
  id: 'answerAsk',
  path: '/v1/asks/:id',
  summary: 'Answer a question or a signal',
  description: 'An approval is decided with POST /v1/approvals/:id, which compares what was seen.',
  params: oneAsk,
  body: z.strictObject({ value: json, reason: reason.optional() }),
  replies: { 200: answered },
  cli: { command: 'ask answer' },
  async handle({ troupe, params, body, idempotencyKey }) {
    const { kind: sort } = await troupe.asks.get(params.id)
    if (sort === 'approval')
      throw new ConflictError(
        'transition_illegal',
        `ask ${params.id} is an approval: decide it with POST /v1/approvals/${params.id}.`,
      )
    return troupe.asks.answer(params.id, body.value, { reason: body.reason, idempotencyKey })
  },
})

export const listApprovals = route({
  ...read,
  id: 'listApprovals',
  path: '/v1/approvals',
  summary: 'Tool calls that wait for a person, the oldest first',
  query: z.strictObject(inbox),
  replies: { 200: z.object({ approvals: z.array(approval), nextCursor: z.string().nullable(), away }) },
  cli: { command: 'approval list' },
  handle: ({ troupe, query: { session, cursor, limit = 50, ...wanted } }) =>
    withAway(async (onAway) => {
      const approvals = await troupe.approvals.list({ ...wanted, sessionId: session, after: cursor, limit, onAway })
      return { approvals, nextCursor: nextOf(approvals, limit) }
    }),
})

export const showApproval = route({
  ...read,
  id: 'showApproval',
  path: '/v1/approvals/:id',
  summary: 'One approval, in any state',
  params: oneAsk,
  replies: { 200: approval },
  cli: { command: 'approval show' },
  handle: ({ troupe, params }) => troupe.approvals.get(params.id),
})

const seen =
  'Whoever approves sends the `hash` of the approval that they saw. If it is that of another call, or of other arguments, the answer is 409, and nothing is decided.'

export const decideApproval = route({
  ...deciding,
  id: 'decideApproval',
  path: '/v1/approvals/:id',
  summary: 'Decide about a tool call',
  description: seen,
  params: oneAsk,
  body: choice,
  replies: { 200: decided },
  cli: { command: 'approval approve' },
  handle: ({ troupe, params, body, idempotencyKey }) => decide(troupe, params.id, body, idempotencyKey),
})

export const decideApprovals = route({
  ...deciding,
  id: 'decideApprovals',
  path: '/v1/approvals/decide',
  summary: 'Decide about several tool calls',
  description: `Each is decided by itself, and has a reply of its own, in the order of the request. ${seen}`,
  body: z.strictObject({
    decisions: z
      .array(choice.extend({ id: askId }))
      .min(1)
      .max(100),
  }),
  replies: {
    200: z.object({ decided: z.array(z.union([decided, z.object({ askId: z.string(), problem: problemSchema })])) }),
  },
  cli: { command: 'approval deny' },
  async handle({ troupe, body, idempotencyKey }) {
    const replies: object[] = []
    for (const { id, ...chosen } of body.decisions) {
      try {
        replies.push(await decide(troupe, id, chosen, idempotencyKey))
      } catch (thrown) {
        const { problem } = ofThrown(thrown)
        // What is no answer about this call, as when Redis is away, must not be kept as the answer under the key.
        if (problem.status >= 500) throw thrown
        replies.push({ askId: id, problem })
      }
    }
    return { decided: replies }
  },
})

async function decide(
  troupe: Troupe,
  id: string,
  { hash, ...chosen }: z.output<typeof choice>,
  idempotencyKey: string | undefined,
): Promise<Decided> {
  if (chosen.decision === 'approve' || hash !== undefined) {
    const { hash: shown } = await troupe.approvals.get(id)
    if (hash !== shown)
      throw new ApiError(
        409,
        'arguments_changed',
        hash === undefined
          ? `approval ${id} needs the hash of what was seen: GET /v1/approvals/${id} shows it.`
          : `approval ${id} is of another call than the one that was seen: look at it again.`,
      )
  }
  return troupe.approvals.decide(id, { ...chosen, idempotencyKey })
}
