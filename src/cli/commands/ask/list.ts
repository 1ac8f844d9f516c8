/** `troupe ask list`: the asks that wait for an answer, of all sessions or of one. */
import { type Command, Option } from 'commander'
import { answerCommand } from '../../../client/person/answer-command.ts'
import type { Ask } from '../../../client/person/asks.ts'
import { type AskSort, askSorts } from '../../../core/worker/ask/ask.ts'
import { addInboxList } from '../inbox-list.ts'
import { askObject, awaitedText, endText, waiter } from './ask-text.ts'

interface ListFlags {
  readonly kind?: AskSort
  readonly of?: string
}

export function addListCommand(group: Command): void {
  addInboxList<Ask, ListFlags>(group, {
    description: 'asks that wait for an answer, the oldest first',
    entry: 'ask',
    options: (command) =>
      command
        .addOption(new Option('--kind <kind>', 'only those of this kind').choices([...askSorts]))
        .option('--of <kind>', 'only those of workers of this kind'),
    examples: [
      ['troupe ask list', 'the inbox of the namespace'],
      ['troupe ask list --session 0199… --state any', 'all that a session ever asked'],
    ],
    list: (troupe, query, { kind, of }) => troupe.asks.list({ ...query, kind, workerKind: of }),
    object: askObject,
    columns: [
      { header: 'state', value: endText },
      { header: 'worker', value: waiter, shrinksTo: 8 },
      { header: 'waits for', value: awaitedText, shrinksTo: 20 },
    ],
    nothing: 'Nobody waits for an answer',
    advice: ([first, ...others]) =>
      first && `To go on: ${answerCommand(others.length === 0 ? first.id : '<id>', first.kind)}`,
  })
}
