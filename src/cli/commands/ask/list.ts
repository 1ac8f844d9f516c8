/** `troupe ask list`: the asks that wait for an answer, of all sessions or of one. */
import { type Command, Option } from 'commander'
import type { Ask } from '../../../client/asks.ts'
import { answerCommand } from '../../../client/holdup.ts'
import { type AskSort, type AskState, askSorts, askStates } from '../../../core/worker/ask.ts'
import { listing, moreNote } from '../../view/answer.ts'
import { formatDuration } from '../../view/duration.ts'
import type { Column } from '../../view/table.ts'
import { addLimitOption, addVerb, eitherId } from '../verb.ts'
import { askObject, awaitedText, endText, waiter } from './ask-text.ts'

interface ListFlags {
  readonly session?: string
  readonly kind?: AskSort
  readonly of?: string
  readonly state: AskState | 'any'
  readonly limit: number
  readonly after?: string
}

export function addListCommand(group: Command): void {
  addVerb<ListFlags>(group, {
    name: 'list',
    description: 'asks that wait for an answer, the oldest first',
    options: (command) =>
      addLimitOption(command, 50)
        .option('--session <id>', 'only those of this session, at any depth of its tree')
        .addOption(new Option('--kind <kind>', 'only those of this kind').choices([...askSorts]))
        .option('--of <kind>', 'only those of workers of this kind')
        .addOption(
          new Option('--state <state>', 'with --session: those that have ended, too')
            .choices([...askStates, 'any'])
            .default('open'),
        )
        .option('--after <id>', 'those behind this ask: the next page'),
    examples: [
      ['troupe ask list', 'the inbox of the namespace'],
      ['troupe ask list --session 0199… --state any', 'all that a session ever asked'],
    ],
    purpose: 'look',
    answer: async (troupe, { flags: { session, of, limit, ...flags }, namespace }) => {
      const sessionId = session === undefined ? undefined : await eitherId(troupe, session, 'session')
      const { kind, state, after } = flags
      const asks = await troupe.asks.list({ sessionId, kind, workerKind: of, state, limit, after })
      const [first, ...others] = asks.filter((ask) => ask.state === 'open')
      const how = first && `To go on: ${answerCommand(others.length === 0 ? first.id : '<id>', first.kind)}`
      return listing(asks, {
        columns,
        object: askObject,
        empty: sessionId === undefined ? `Nobody waits for an answer in namespace ${namespace}.` : 'There are none.',
        more: [moreNote(asks, limit, 'first'), how].filter(Boolean).join('\n') || undefined,
      })
    },
  })
}

const columns: Column<Ask>[] = [
  { header: 'id', value: ({ id }) => id },
  { header: 'since', value: ({ askedAt }) => formatDuration(Date.now() - askedAt) },
  { header: 'state', value: endText },
  { header: 'worker', value: waiter, shrinksTo: 8 },
  { header: 'waits for', value: awaitedText, shrinksTo: 20 },
  { header: 'session', value: ({ sessionId }) => sessionId },
]
