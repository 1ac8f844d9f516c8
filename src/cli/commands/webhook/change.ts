/** `troupe webhook remove`, `rotate`, `enable` and `disable`: changes of one endpoint. */
import type { Command } from 'commander'
import { parseId } from '../../../core/ids.ts'
import { sentence } from '../../view/answer.ts'
import { addVerb } from '../verb.ts'
import { takesWebhook } from './takes-webhook.ts'
import { secretAnswer, webhookObject } from './webhook-text.ts'

export function addRemoveCommand(group: Command): void {
  addVerb(group, {
    name: 'remove',
    description: 'remove an endpoint: nothing more is sent to it, not even what was on its way',
    options: takesWebhook,
    examples: [['troupe webhook remove 0199…', '']],
    purpose: 'change',
    answer: async (troupe, { more: [given] }) => {
      const id = parseId(given, 'webhook')
      await troupe.webhooks.remove(id)
      return sentence({ type: 'webhookRemoved', webhookId: id }, `endpoint ${id} is removed`)
    },
  })
}

export function addRotateCommand(group: Command): void {
  addVerb<{ readonly atOnce?: boolean }>(group, {
    name: 'rotate',
    description: 'give an endpoint a new secret, and print it, once; the former one is good for 24 hours more',
    options: (command) =>
      takesWebhook(command).option('--at-once', 'the former secret ends now: somebody else may know it'),
    examples: [
      ['troupe webhook rotate 0199… | tail -1 > hook.secret', 'requests have signatures of both for a day'],
      ['troupe webhook rotate 0199… --at-once', 'of the new one alone'],
    ],
    purpose: 'change',
    answer: async (troupe, { more: [id], flags: { atOnce } }) =>
      secretAnswer('webhookRotated', await troupe.webhooks.rotate(String(id), { atOnce })),
  })
}

export function addEnableCommand(group: Command): void {
  addVerb(group, {
    name: 'enable',
    description: 'tell an endpoint again, of what happens from now on',
    options: takesWebhook,
    examples: [['troupe webhook enable 0199…', '']],
    purpose: 'change',
    answer: async (troupe, { more: [id] }) => {
      const webhook = await troupe.webhooks.enable(String(id))
      return sentence({ type: 'webhookEnabled', ...webhookObject(webhook) }, `endpoint ${webhook.id} is enabled`)
    },
  })
}

export function addDisableCommand(group: Command): void {
  addVerb(group, {
    name: 'disable',
    description: 'send nothing to an endpoint until it is enabled; what happens until then is not sent later either',
    options: takesWebhook,
    examples: [['troupe webhook disable 0199…', '']],
    purpose: 'change',
    answer: async (troupe, { more: [id] }) => {
      const webhook = await troupe.webhooks.disable(String(id))
      return sentence(
        { type: 'webhookDisabled', ...webhookObject(webhook) },
        `endpoint ${webhook.id} is disabled; go on with: troupe webhook enable ${webhook.id}`,
      )
    },
  })
}
