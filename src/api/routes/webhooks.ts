/** Duty: the routes of webhooks: endpoints that are told of what happens, and the deliveries to them. */
import { z } from 'zod'
import { Answer, route } from '../route.ts'
import { count, webhookId } from '../schemas/parts.ts'
import {
  delivery,
  deliveryDetails,
  deliveryId,
  deliveryState,
  newWebhook,
  webhook,
  webhookWithSecret,
} from '../schemas/webhook.ts'

const tag = 'webhooks'
const read = { method: 'GET', right: 'read', tag } as const
/** Only an admin decides where requests go, because that concerns the whole namespace. */
const change = { method: 'POST', right: 'admin', tag } as const
const oneWebhook = z.strictObject({ id: webhookId })
const oneDelivery = z.strictObject({ id: deliveryId })
const keepsSecret = 'The answer has a secret, which no other request shows.'

export const listWebhooks = route({
  ...read,
  id: 'listWebhooks',
  path: '/v1/webhooks',
  summary: 'The endpoints that are told of what happens, without their secrets',
  replies: { 200: z.object({ webhooks: z.array(webhook) }) },
  cli: { command: 'webhook list' },
  handle: async ({ troupe }) => ({ webhooks: await troupe.webhooks.list() }),
})

export const addWebhook = route({
  ...change,
  id: 'addWebhook',
  path: '/v1/webhooks',
  summary: 'Register an address that is told of what happens from now on',
  description: keepsSecret,
  body: newWebhook,
  replies: { 201: webhookWithSecret },
  cli: { command: 'webhook add' },
  async handle({ troupe, body, idempotencyKey }) {
    const added = await troupe.webhooks.add({ ...body, idempotencyKey })
    return new Answer(201, added, { location: `/v1/webhooks/${added.id}` })
  },
})

export const showWebhook = route({
  ...read,
  id: 'showWebhook',
  path: '/v1/webhooks/:id',
  summary: 'One endpoint, and whether deliveries to it fail',
  params: oneWebhook,
  replies: { 200: webhook },
  cli: { command: 'webhook show' },
  handle: ({ troupe, params }) => troupe.webhooks.get(params.id),
})

export const removeWebhook = route({
  ...change,
  method: 'DELETE',
  id: 'removeWebhook',
  path: '/v1/webhooks/:id',
  summary: 'Remove an endpoint: nothing more is sent to it',
  params: oneWebhook,
  replies: {},
  cli: { command: 'webhook remove' },
  handle: ({ troupe, params }) => troupe.webhooks.remove(params.id),
})

export const rotateWebhook = route({
  ...change,
  id: 'rotateWebhook',
  path: '/v1/webhooks/:id/rotate',
  summary: 'Give an endpoint a new secret; the former one is good for 24 hours more',
  description: keepsSecret,
  params: oneWebhook,
  body: z
    .strictObject({ atOnce: z.boolean().optional().describe('The former secret ends now: others may know it.') })
    .optional(),
  replies: { 200: webhookWithSecret },
  cli: { command: 'webhook rotate' },
  handle: ({ troupe, params, body }) => troupe.webhooks.rotate(params.id, body),
})

export const enableWebhook = route({
  ...change,
  id: 'enableWebhook',
  path: '/v1/webhooks/:id/enable',
  summary: 'Tell an endpoint again, of what happens from now on',
  params: oneWebhook,
  replies: { 200: webhook },
  cli: { command: 'webhook enable' },
  handle: ({ troupe, params }) => troupe.webhooks.enable(params.id),
})

export const disableWebhook = route({
  ...change,
  id: 'disableWebhook',
  path: '/v1/webhooks/:id/disable',
  summary: 'Tell an endpoint of nothing until it is enabled',
  params: oneWebhook,
  replies: { 200: webhook },
  cli: { command: 'webhook disable' },
  handle: ({ troupe, params }) => troupe.webhooks.disable(params.id),
})

export const testWebhook = route({
  ...change,
  id: 'testWebhook',
  path: '/v1/webhooks/:id/test',
  summary: 'Have a node send a message of the type `webhook.test`, once',
  description: 'GET /v1/webhooks/deliveries/{id} says what came of it.',
  params: oneWebhook,
  replies: { 202: deliveryDetails },
  cli: { command: 'webhook test' },
  async handle({ troupe, params }) {
    const sent = await troupe.webhooks.test(params.id)
    return new Answer(202, sent, { location: `/v1/webhooks/deliveries/${sent.id}` })
  },
})

export const listDeliveries = route({
  ...read,
  id: 'listDeliveries',
  path: '/v1/webhooks/deliveries',
  summary: 'Requests that told of something, or are to, the newest first',
  description: 'Also those of sessions that say where their result goes (`notify`).',
  query: z.strictObject({
    webhook: webhookId.optional().describe('Only deliveries to this endpoint.'),
    state: deliveryState.optional(),
    limit: count(1_000).optional().describe('Default 50.'),
  }),
  replies: { 200: z.object({ deliveries: z.array(delivery) }) },
  cli: { command: 'webhook deliveries' },
  handle: async ({ troupe, query: { webhook: id, ...query } }) => ({
    deliveries: await troupe.webhooks.deliveries({ webhookId: id, ...query }),
  }),
})

export const showDelivery = route({
  ...read,
  id: 'showDelivery',
  path: '/v1/webhooks/deliveries/:id',
  summary: 'One delivery, with what is sent',
  params: oneDelivery,
  replies: { 200: deliveryDetails },
  cli: { command: 'webhook show' },
  handle: ({ troupe, params }) => troupe.webhooks.delivery(params.id),
})

export const redeliver = route({
  ...change,
  id: 'redeliver',
  path: '/v1/webhooks/deliveries/:id/redeliver',
  summary: 'Send a delivery once more, now, as the same message',
  params: oneDelivery,
  replies: { 200: delivery },
  cli: { command: 'webhook redeliver' },
  handle: ({ troupe, params }) => troupe.webhooks.redeliver(params.id),
})
