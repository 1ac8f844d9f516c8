/** Duty: the routes of one worker: what it is and holds. */
import { z } from 'zod'
import type { ContextContainer } from '../../core/history/context-container.ts'
import { withAway } from '../away.ts'
import { route } from '../route.ts'
import { context, historyItem, mail, tokenReport } from '../schemas/history.ts'
import { away, count, position, sessionId, workerParams } from '../schemas/parts.ts'
import { workerReport } from '../schemas/worker.ts'

const tag = 'workers'
const read = { method: 'GET', right: 'read', tag, params: workerParams } as const
/** How many entries one page may have: entries may be large. */
const pageMost = 1_000

export const listWorkers = route({
  id: 'listWorkers',
  method: 'GET',
  path: '/v1/workers',
  right: 'read',
  tag,
  summary: 'The workers of one session, or of the newest sessions',
  query: z.strictObject({ session: sessionId.optional(), limit: count(10_000).optional().describe('Default 200.') }),
  replies: { 200: z.object({ workers: z.array(workerReport), away }) },
  cli: { command: 'worker list' },
  handle: ({ troupe, query }) =>
    withAway(async (onAway) => ({
      workers: await troupe.workers.list({ sessionId: query.session, limit: query.limit, onAway }),
    })),
})

export const showWorker = route({
  ...read,
  id: 'showWorker',
  path: '/v1/workers/:id',
  summary: 'A worker, and why it does not go on',
  replies: { 200: workerReport },
  cli: { command: 'worker show' },
  handle: ({ troupe, params }) => troupe.workers.get(params.id).report(),
})

export const workerHistory = route({
  ...read,
  id: 'workerHistory',
  path: '/v1/workers/:id/history',
  summary: 'Entries of a history, oldest first',
  description: 'With `before` the entries that end there; without `after` and `before` from the first one on.',
  query: z.strictObject({
    after: z.coerce
      .number()
      .int()
      .min(-1)
      .max(Number.MAX_SAFE_INTEGER)
      .optional()
      .describe('Only entries behind this position.'),
    before: position.optional().describe('Only entries before this position: the last `limit` of them.'),
    limit: count(pageMost).optional().describe('Default 100.'),
  }),
  replies: {
    200: z.object({
      entries: z.array(historyItem),
      length: z.int().describe('How many entries the history has.'),
    }),
  },
  cli: { command: 'worker history' },
  async handle({ troupe, params, query: { after, before, limit = 100 } }) {
    const worker = troupe.workers.get(params.id)
    const { historyLength: length } = await worker.report()
    const end = Math.min(before ?? length, length)
    const from = before === undefined ? (after ?? -1) : Math.max(after ?? -1, end - limit - 1)
    const most = Math.min(limit, end - from - 1)
    return { entries: most <= 0 ? [] : await worker.history({ after: from, limit: most }), length }
  },
})

export const workerMailbox = route({
  ...read,
  id: 'workerMailbox',
  path: '/v1/workers/:id/mailbox',
  summary: 'The messages that wait: signals, then results, then inputs',
  query: z.strictObject({ limit: count(pageMost).optional().describe('How many of each lane. Default 100.') }),
  replies: { 200: z.object({ mails: z.array(mail) }) },
  cli: { command: 'mailbox list' },
  handle: async ({ troupe, params, query }) => ({
    mails: await troupe.workers.get(params.id).mailbox({ limit: query.limit ?? 100 }),
  }),
})

export const workerContext = route({
  ...read,
  id: 'workerContext',
  path: '/v1/workers/:id/context',
  summary: 'What an agent knows, and what its model is sent of it',
  query: z.strictObject({ at: position.optional().describe('A position of its history. Default: its end.') }),
  replies: { 200: context },
  cli: { none: '`worker history` and `session export` show it as entries and as messages' },
  handle: async ({ troupe, params, query }) => contextReply(await troupe.workers.get(params.id).context(query)),
})

function contextReply(container: ContextContainer): object {
  const { session, history, isCompacted, facts, size, passedOver } = container
  return {
    ...session,
    messages: history.toVec(),
    prompt: history.prompt(),
    isCompacted,
    openCalls: history.openCalls(),
    facts,
    tokens: size.tokens,
    passedOver,
  }
}

export const workerTokens = route({
  ...read,
  id: 'workerTokens',
  path: '/v1/workers/:id/tokens',
  summary: 'How many tokens an agent has used, and how much of the window of its model its next prompt fills',
  replies: { 200: tokenReport },
  cli: { none: '`worker show` prints its sums' },
  handle: ({ troupe, params }) => troupe.workers.get(params.id).tokens(),
})
