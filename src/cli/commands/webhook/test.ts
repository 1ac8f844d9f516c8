/** `troupe webhook test <webhook>`: has a node send a message, and says what came of it. */
import { setTimeout as pause } from 'node:timers/promises'
import type { Command } from 'commander'
import type { Troupe } from '../../../client/client.ts'
import type { DeliveryDetails } from '../../../client/webhook/webhook.ts'
import { endWith, exitCodes } from '../../exit-code.ts'
import { type Answer, sentence } from '../../view/answer.ts'
import { addVerb } from '../verb.ts'
import { takesWebhook } from './takes-webhook.ts'
import { deliveryObject, endOf } from './webhook-text.ts'

/** A node without other requests looks every 5 s whether there are endpoints, and a receiver has 10 s for its answer. */
const waitMsMax = 20_000
const lookEveryMs = 200

export function addTestCommand(group: Command): void {
  addVerb(group, {
    name: 'test',
    description: 'have a node send a message of the type webhook.test, once, and print what came of it',
    options: takesWebhook,
    examples: [['troupe webhook test 0199…', 'exit code 1 if it was not accepted']],
    purpose: 'change',
    answer: async (troupe, { more: [id] }) => {
      const sent = await troupe.webhooks.test(String(id))
      return outcome(await settled(troupe, sent))
    },
  })
}

async function settled(troupe: Troupe, sent: DeliveryDetails): Promise<DeliveryDetails> {
  const giveUp = performance.now() + waitMsMax
  let delivery = sent
  // A delivery for which its receiver has no room now waits for another attempt.
  while (delivery.state !== 'delivered' && delivery.state !== 'failed') {
    if (performance.now() > giveUp) return delivery
    await pause(lookEveryMs)
    delivery = await troupe.webhooks.delivery(sent.id)
  }
  return delivery
}

function outcome(delivery: DeliveryDetails): Answer {
  const { state, id } = delivery
  if (state === 'delivered') return sentence(deliveryObject(delivery), `accepted, with ${endOf(delivery)}`)
  endWith(state === 'failed' ? exitCodes.failed : exitCodes.unavailable)
  const line =
    state === 'failed'
      ? `not accepted: ${endOf(delivery)}`
      : `no node has sent it within ${waitMsMax / 1_000} s: is one running (troupe node list)? It is sent when there is one: troupe webhook show ${id}`
  return sentence(deliveryObject(delivery), line)
}
