/** Duty: the schemas of asks and approvals, and of what came of an answer. */
import { z } from 'zod'
import type { Approval, Decided } from '../../client/person/approvals.ts'
import type { Answered, Ask } from '../../client/person/asks.ts'
import type { Json } from '../../core/history/chat/chat-message.ts'
import { askSorts, askStates } from '../../core/worker/ask/ask.ts'
import { json, jsonObject, maybeTime, reason, time } from './parts.ts'
import { schemaOf } from './schema-of.ts'

const asked = {
  id: z.string(),
  sessionId: z.string(),
  workerId: z.string(),
  workerName: z.string().nullable(),
  workerKind: z.string().nullable(),
  run: z.int(),
  state: z.enum(askStates),
  schema: jsonObject.nullable().describe('JSON Schema of the answer.'),
  askedAt: time,
  expiresAt: maybeTime,
  endedAt: maybeTime,
}

export const ask = schemaOf<Ask>()(
  'Ask',
  z.object({
    ...asked,
    kind: z.enum(askSorts),
    question: z.string(),
    options: z.array(z.string()).nullable(),
    details: json,
    answer: z.object({ value: json, by: z.string().nullable(), reason: z.string().nullable() }).nullable(),
  }),
)

const decision = z.enum(['approve', 'deny'])

export const approval = schemaOf<Approval>()(
  'Approval',
  z.object({
    ...asked,
    tool: z.string(),
    toolCallId: z.string(),
    arguments: json,
    hash: z.string().describe('The hash of the call as it is shown here. Whoever approves the call sends it back.'),
    why: z.string(),
    again: z.string().nullable(),
    eachTime: z.boolean(),
    decided: z
      .object({
        decision,
        arguments: (json as unknown as z.ZodType<Json>).exactOptional(),
        trust: z.literal('tool').exactOptional(),
        by: z.string().nullable(),
        reason: z.string().nullable(),
      })
      .nullable(),
  }),
)

const answeredFields = { askId: z.string(), workerId: z.string(), sessionId: z.string(), again: z.boolean() }
export const answered = schemaOf<Answered>()('Answered', z.object(answeredFields))
export const decided = schemaOf<Decided>()(
  'Decided',
  z.object({ ...answeredFields, decision, alsoApproved: z.array(z.string()) }),
)

export const choice = z.strictObject({
  decision,
  hash: z.string().max(100).optional().describe('The hash of the approval. Needed to approve.'),
  arguments: json
    .optional()
    .describe('With approve: the call runs with these, in place of those that the model wrote.'),
  trust: z.enum(['once', 'tool']).optional(),
  reason: reason.optional().describe('The reason, shown to the model and to people.'),
})
