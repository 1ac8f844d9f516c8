/** Duty: the schemas of what workers hold: histories, mailboxes, conversations; and of what is sent to them. */
import { z } from 'zod'
import type { Compacted } from '../../client/session/conversation/orders.ts'
import type { TokenReport } from '../../client/session/conversation/tokens.ts'
import type { Sent } from '../../client/summaries.ts'
import type { HistoryItem } from '../../client/worker.ts'
import type { Entry } from '../../core/history/entry.ts'
import { lanes, type Mail, type Message } from '../../core/worker/message/message.ts'
import type { Order } from '../../core/worker/message/order.ts'
import { named } from './components.ts'
import { jsonObject } from './parts.ts'
import { schemaOf } from './schema-of.ts'

/** A union of many forms, each known by this field: docs/reference says what each has. */
const byField = <Type>(field: string, page: string) =>
  z
    .looseObject({ [field]: z.string() })
    .describe(`Its other fields follow from \`${field}\`: ${page}.`) as unknown as z.ZodType<Type>

export const historyItem = schemaOf<HistoryItem>()(
  'HistoryItem',
  z.object({ position: z.int(), entry: byField<Entry>('type', 'the type Entry of the package') }),
)

export const mail = schemaOf<Mail>()(
  'Mail',
  z.object({
    malformed: z.string().exactOptional(),
    order: byField<Order>('do', 'the type Order of the package').exactOptional(),
    lane: z.enum(lanes),
    position: z.int(),
    message: byField<Message>('kind', 'the type Message of the package'),
  }),
)

export const sent = schemaOf<Sent>()(
  'Sent',
  z.object({
    position: z.int().describe('Its number among all inputs that the worker ever accepted, counted from 0.'),
    again: z.boolean().describe('Its idempotency key was used before: nothing was added.'),
    steers: z.boolean().describe('The run in progress receives it.'),
    warning: z.string().nullable(),
  }),
)

export const compacted = schemaOf<Compacted>()(
  'Compacted',
  z.discriminatedUnion('compacted', [
    z.object({
      compacted: z.literal(true),
      messages: z.number(),
      tokensBefore: z.number(),
      tokensAfter: z.number(),
      model: z.string(),
    }),
    z.object({ compacted: z.literal(false), reason: z.string() }),
  ]),
)

const tokenCounts = named(
  'TokenCounts',
  z.object({
    inputTokens: z.number(),
    outputTokens: z.number(),
    cacheReadTokens: z.number(),
    cacheWriteTokens: z.number(),
    reasoningTokens: z.number(),
  }),
)
export const tokenReport = schemaOf<TokenReport>()(
  'TokenReport',
  z.object({
    total: tokenCounts,
    last: tokenCounts.nullable(),
    context: z.object({
      tokens: z.number(),
      model: z.string().nullable(),
      window: z.number().nullable(),
      share: z.number().nullable(),
    }),
  }),
)

/** A conversation as its agent knows it. */
export const context = named(
  'Context',
  z.object({
    sessionId: z.string(),
    workerId: z.string(),
    name: z.string(),
    kind: z.string(),
    parentId: z.string().nullable(),
    depth: z.int(),
    messages: z.array(jsonObject).describe('What was said: the type ChatMessage of the package.'),
    prompt: z
      .array(jsonObject)
      .describe('What its model is sent of it, after compaction, without the instructions of its kind and its tools.'),
    isCompacted: z.boolean(),
    openCalls: z.array(jsonObject).describe('Tool calls of the newest reply that have no result yet.'),
    facts: jsonObject,
    tokens: z
      .number()
      .describe('The tokens of the next prompt: counted by the provider up to the newest reply, estimated behind it.'),
    passedOver: z.number().describe('Entries that this version cannot read.'),
  }),
)
