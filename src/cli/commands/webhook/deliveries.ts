/** `troupe webhook deliveries` and `troupe webhook redeliver`: requests to endpoints, sent or still to be sent. */
import { type Command, Option } from 'commander'
import { type Delivery, type DeliveryState, deliveryStates } from '../../../client/webhook/webhook.ts'
import { formatDuration, formatMoment } from '../../../words/duration.ts'
import { listing, moreNote, sentence } from '../../view/answer.ts'
import type { Column } from '../../view/table.ts'
import { addLimitOption, addVerb } from '../verb.ts'
import { deliveryObject, endOf, stateStyle } from './webhook-text.ts'

interface DeliveriesFlags {
  readonly state?: DeliveryState
  readonly limit: number
}

export function addDeliveriesCommand(group: Command): void {
  addVerb<DeliveriesFlags>(group, {
    name: 'deliveries',
    description: 'requests to endpoints, sent or still to be sent, newest first; also those of --notify <url>',
    options: (command) => {
      command
        .argument('[webhook]', 'id of an endpoint: only those to it')
        .addOption(new Option('--state <state>', 'only deliveries in this state').choices(deliveryStates))
      return addLimitOption(command, 50)
    },
    examples: [
      ['troupe webhook deliveries 0199…', 'those to one endpoint'],
      ['troupe webhook deliveries --state retrying', 'what waits for another attempt'],
      [
        'troupe webhook deliveries --state failed --json | jq -r .deliveryId | xargs -n1 troupe webhook redeliver',
        'all of them once more',
      ],
    ],
    details: `Accepted ones are kept for 7 days, those that failed for good for 30, and at most
10 000 of each. troupe webhook show <id> has one of them, with what is sent.`,
    purpose: 'look',
    answer: async (troupe, { more: [webhook], flags: { state, limit } }) => {
      const webhookId = webhook as string | undefined
      const deliveries = await troupe.webhooks.deliveries({ webhookId, state, limit })
      return listing(deliveries, {
        columns,
        object: deliveryObject,
        empty: `There are no ${state === undefined ? '' : `${state} `}deliveries${webhookId === undefined ? '' : ' to this endpoint'}.`,
        more: moreNote(deliveries, limit, 'newest'),
      })
    },
  })
}

const columns: Column<Delivery>[] = [
  { header: 'id', value: ({ id }) => id },
  { header: 'made', value: ({ createdAt }) => formatMoment(createdAt) },
  { header: 'type', value: ({ type }) => type },
  { header: 'host', value: ({ host }) => host, shrinksTo: 8 },
  { header: 'state', value: ({ state }) => state, style: stateStyle },
  { header: 'attempts', value: ({ attempts }) => attempts, align: 'right' },
  { header: 'next in', value: ({ nextAt }) => (nextAt === null ? null : formatDuration(nextAt - Date.now())) },
  { header: 'last', value: endOf, shrinksTo: 8, atMost: 100 },
]

export function addRedeliverCommand(group: Command): void {
  addVerb(group, {
    name: 'redeliver',
    description: 'send a delivery once more, now, as the same message',
    options: (command) => command.argument('<delivery>', 'id of the delivery, as troupe webhook deliveries shows it'),
    examples: [['troupe webhook redeliver 0199….0198…-1', '']],
    purpose: 'change',
    answer: async (troupe, { more: [id] }) => {
      const delivery = await troupe.webhooks.redeliver(String(id))
      return sentence(
        { type: 'redelivered', ...deliveryObject(delivery) },
        `delivery ${delivery.id} is sent once more; see: troupe webhook show ${delivery.id}`,
      )
    },
  })
}
