/** Duty: the routes of dead letters. */
import { z } from 'zod'
import { withAway } from '../away.ts'
import { refuseCopy } from '../guard/ceiling.ts'
import { route } from '../route.ts'
import { dismissed, letter, redriven } from '../schemas/fleet.ts'
import { away, count, letterId, workerId, yesOrNo } from '../schemas/parts.ts'

const tag = 'dead letters'
const params = z.strictObject({ id: letterId })
/** Two partitions may give letters the same id. */
const worker = workerId.optional().describe('The worker of the letter. Needed if two letters have this id.')

export const listLetters = route({
  id: 'listDeadLetters',
  method: 'GET',
  path: '/v1/dead',
  right: 'read',
  tag,
  summary: 'Messages that were put aside because they took their nodes down, newest first',
  query: z.strictObject({
    worker: workerId.optional(),
    open: yesOrNo.optional().describe('true: only those that were neither put back nor dismissed.'),
    limit: count(1_000).optional().describe('Default 100.'),
  }),
  replies: { 200: z.object({ letters: z.array(letter), away }) },
  cli: { command: 'mailbox dead' },
  handle: ({ troupe, query: { worker: workerId, open, limit } }) =>
    withAway(async (onAway) => ({
      letters: await troupe.deadLetters({ workerId, open: open === 'true', limit, onAway }),
    })),
})

export const redriveLetter = route({
  id: 'redriveDeadLetter',
  method: 'POST',
  path: '/v1/dead/:id/redrive',
  right: 'operate',
  tag,
  summary: 'Put a dead letter back into its mailbox, once; or begin a new session with it',
  params,
  body: z.strictObject({ worker, newSession: z.boolean().optional() }).optional(),
  replies: { 200: redriven },
  cli: { command: 'mailbox redrive' },
  ceiling: (call) => call.body?.newSession && refuseCopy(call),
  async handle({ troupe, params, body }) {
    const [one] = await troupe.redrive({ letter: params.id, workerId: body?.worker, newSession: body?.newSession })
    return one
  },
})

export const dismissLetter = route({
  id: 'dismissDeadLetter',
  method: 'POST',
  path: '/v1/dead/:id/dismiss',
  right: 'operate',
  tag,
  summary: 'Record that a dead letter has been dealt with',
  params,
  body: z.strictObject({ worker }).optional(),
  replies: { 200: dismissed },
  cli: { command: 'mailbox dismiss' },
  ceiling: 'unneeded',
  async handle({ troupe, params, body }) {
    const [one] = await troupe.dismiss({ letter: params.id, workerId: body?.worker })
    return one
  },
})
