/** Duty: the schemas of endpoints of webhooks and of deliveries to them. */
import { z } from 'zod'
import {
  type Delivery,
  type DeliveryDetails,
  deliveryStates,
  includes,
  noticeTypes,
  type Webhook,
  type WebhookWithSecret,
} from '../../client/webhook/webhook.ts'
import { kind, maybeTime, name, time } from './parts.ts'
import { schemaOf } from './schema-of.ts'

export const deliveryId = z
  .string()
  .regex(/^[0-9A-Za-z.-]{1,200}$/, 'must be the id of a delivery, as GET /v1/webhooks/deliveries lists them')
export const deliveryState = z.enum(deliveryStates)

const types = z.array(z.enum(noticeTypes)).min(1)
const include = z
  .enum(includes)
  .describe('ids: what happened, when, and to which session. result: also its result, the question, the evidence.')

/** What a new endpoint is. */
export const newWebhook = z.strictObject({
  url: z.string().max(2_000).describe('An address of http or https, without a password.'),
  types: types.optional().describe('Default: session.completed, session.failed, session.cancelled.'),
  kinds: z.array(kind).min(1).max(50).optional().describe('Only sessions of these kinds.'),
  names: z.array(name).min(1).max(50).optional().describe('Only sessions with one of these names.'),
  include: include.optional(),
})

const fields = {
  id: z.string(),
  url: z.string(),
  types,
  kinds: z.array(z.string()).nullable(),
  names: z.array(z.string()).nullable(),
  include,
  state: z.enum(['enabled', 'disabled', 'failing']),
  failing: z
    .object({ retrying: z.number(), reason: z.string().nullable() })
    .nullable()
    .describe('Deliveries wait for another attempt, or the last one failed for good.'),
  deliveredAt: maybeTime.describe('When it last accepted a delivery that is still kept.'),
  previousSecretUntil: maybeTime.describe('Until when its former secret is good beside its own.'),
  createdAt: time,
  createdBy: z.string().nullable(),
  changedAt: maybeTime.describe('When it was last enabled, disabled or given another secret.'),
  changedBy: z.string().nullable(),
}

export const webhook = schemaOf<Webhook>()('Webhook', z.object(fields))

export const webhookWithSecret = schemaOf<WebhookWithSecret>()(
  'WebhookWithSecret',
  z.object({
    ...fields,
    secret: z.string().describe('Its receiver verifies requests with it. It is never shown again.'),
  }),
)

const deliveryFields = {
  id: z.string(),
  webhookId: z.string().nullable().describe('Null: its session says where its result goes (`notify`).'),
  host: z.string().nullable().describe('The host of the address that such a session names.'),
  type: z.string(),
  sessionId: z.string().nullable(),
  state: deliveryState,
  attempts: z.number(),
  status: z.number().nullable().describe('The status of the last answer.'),
  reason: z.string().nullable().describe('Why the last attempt was not accepted.'),
  createdAt: time,
  nextAt: maybeTime,
  finishedAt: maybeTime,
}

export const delivery = schemaOf<Delivery>()('Delivery', z.object(deliveryFields))

export const deliveryDetails = schemaOf<DeliveryDetails>()(
  'DeliveryDetails',
  z.object({ ...deliveryFields, body: z.unknown().describe('What is sent.') }),
)
