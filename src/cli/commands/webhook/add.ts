/** `troupe webhook add <url>`: registers an address that is told of what happens from now on. */
import type { Command } from 'commander'
import { type NoticeType, noticeTypes } from '../../../core/webhook/notice.ts'
import { names, someOf } from '../../options.ts'
import { addVerb } from '../verb.ts'
import { secretAnswer } from './webhook-text.ts'

interface AddFlags {
  readonly types?: readonly NoticeType[]
  readonly kinds?: readonly string[]
  readonly names?: readonly string[]
  readonly result?: boolean
}

const details = `It is told of: session.completed, session.failed and session.cancelled, unless --types
names others: ask.opened, approval.requested, message.deadLettered.
A request says what happened, when and to which session; with --result also what came
of it. It is signed as Standard Webhooks describes. Any node sends it, tried again for
about three hours until it is accepted. docs/webhooks.md has all of it.`

export function addAddCommand(group: Command): void {
  addVerb<AddFlags>(group, {
    name: 'add',
    description: 'register an address that is told of what happens from now on, and print its secret, once',
    options: (command) =>
      command
        .argument('<url>', 'address of http or https, without a password')
        .option('--types <types>', 'what it is told of, with commas between them', someOf(noticeTypes))
        .option('--kinds <kinds>', 'only sessions of these kinds, with commas between them', names)
        .option('--names <names>', 'only sessions with these names, with commas between them', names)
        .option('--result', 'requests also hold the result, the question of an ask, the evidence of a dead letter'),
    examples: [
      ['troupe webhook add https://example.com/hooks/troupe', 'each session that ends'],
      ['troupe webhook add https://example.com/hooks/reader --kinds reader --result', 'those of a kind, with results'],
      ['troupe webhook add https://example.com/ask --types ask.opened,approval.requested', 'what waits for people'],
      ['troupe webhook add https://example.com/hooks | tail -1 > hook.secret', 'the secret alone is in the file'],
    ],
    details,
    purpose: 'create',
    answer: async (troupe, { more: [url], flags: { types, kinds, names, result } }) => {
      const include = result ? 'result' : undefined
      const added = await troupe.webhooks.add({ url: String(url), types, kinds, names, include })
      return secretAnswer('webhookAdded', added)
    },
  })
}
