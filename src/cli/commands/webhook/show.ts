/** `troupe webhook list` and `troupe webhook show`: the endpoints, one of them, or one delivery. */
import type { Command } from 'commander'
import type { Webhook } from '../../../client/webhook/webhook.ts'
import { isId, pastedId } from '../../../core/ids.ts'
import { formatDuration } from '../../../words/duration.ts'
import { listing } from '../../view/answer.ts'
import type { Column } from '../../view/table.ts'
import { addVerb } from '../verb.ts'
import { deliveryLines, deliveryObject, stateStyle, webhookLines, webhookObject } from './webhook-text.ts'

export function addListCommand(group: Command): void {
  addVerb(group, {
    name: 'list',
    description: 'the endpoints of the namespace, and whether deliveries to them fail',
    examples: [
      ['troupe webhook list', ''],
      [
        'troupe webhook list --json | jq -r \'select(.state == "failing").url\'',
        'those that do not accept what they are told',
      ],
    ],
    purpose: 'look',
    answer: async (troupe, { namespace }) =>
      listing(await troupe.webhooks.list(), {
        columns,
        object: webhookObject,
        empty: `There are no endpoints in namespace ${namespace}. Add one: troupe webhook add <url>`,
      }),
  })
}

const columns: Column<Webhook>[] = [
  { header: 'id', value: ({ id }) => id },
  { header: 'state', value: ({ state }) => state, style: stateStyle },
  { header: 'url', value: ({ url }) => url, shrinksTo: 16 },
  { header: 'told of', value: ({ types }) => types.join(' '), shrinksTo: 8 },
  { header: 'only', value: ({ kinds, names }) => [...(kinds ?? []), ...(names ?? [])].join(' '), shrinksTo: 6 },
  { header: 'delivered', value: ({ deliveredAt }) => (deliveredAt === null ? null : ago(deliveredAt)) },
  { header: 'why', value: ({ failing }) => failing?.reason, shrinksTo: 8, atMost: 100 },
]

function ago(at: number): string {
  return `${formatDuration(Date.now() - at)} ago`
}

export function addShowCommand(group: Command): void {
  addVerb(group, {
    name: 'show',
    description: 'one endpoint, or one delivery with what is sent',
    options: (command) => command.argument('<id>', 'id of the endpoint, or of a delivery'),
    examples: [
      ['troupe webhook show 0199…', ''],
      ['troupe webhook show 0199….0198…-1', 'a delivery: troupe webhook deliveries has the ids'],
    ],
    purpose: 'look',
    answer: async (troupe, { more: [given] }) => {
      const id = String(given)
      // The id of a delivery is longer than that of an endpoint, and begins with it.
      if (!isId(pastedId(id)) && isId(id.slice(0, 36))) {
        const delivery = await troupe.webhooks.delivery(id)
        return { objects: [deliveryObject(delivery)], lines: (page) => deliveryLines(delivery, page) }
      }
      const webhook = await troupe.webhooks.get(id)
      return { objects: [webhookObject(webhook)], lines: (page) => webhookLines(webhook, page) }
    },
  })
}
