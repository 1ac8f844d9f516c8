/** Duty: the one shape of the commands that list what waits for somebody: of all sessions or of one, page by page, the oldest first. */
import { type Command, Option } from 'commander'
import type { Troupe } from '../../client/client.ts'
import type { AsksQuery } from '../../client/queries.ts'
import { type AskState, askStates } from '../../core/worker/ask/ask.ts'
import { formatDuration } from '../../words/duration.ts'
import type { Example } from '../options.ts'
import { listing, moreNote } from '../view/answer.ts'
import type { Column } from '../view/table.ts'
import { AwayPartitions } from './away-partitions.ts'
import { addLimitOption, addVerb, eitherId } from './verb.ts'

interface ListFlags {
  readonly session?: string
  readonly state: AskState | 'any'
  readonly limit: number
  readonly after?: string
}

/** What every list shows of an entry. */
interface Listed {
  readonly id: string
  readonly askedAt: number
  readonly state: AskState
  readonly sessionId: string
}

export interface InboxList<Entry extends Listed, Flags> {
  readonly description: string
  readonly examples: readonly Example[]
  /** The name of an entry that the option --after takes. */
  readonly entry: string
  readonly options?: (command: Command) => unknown
  readonly list: (troupe: Troupe, query: AsksQuery, flags: Flags) => Promise<readonly Entry[]>
  readonly object: (entry: Entry) => unknown
  /** Columns between the time and the session. */
  readonly columns: readonly Column<Entry>[]
  /** The sentence for a namespace in which nothing waits. */
  readonly nothing: string
  /** What to do about these open entries. */
  readonly advice: (open: readonly Entry[]) => string | undefined
}

export function addInboxList<Entry extends Listed, Flags extends object = object>(
  group: Command,
  { description, examples, entry, options, list, object, columns, nothing, advice }: InboxList<Entry, Flags>,
): void {
  addVerb<ListFlags & Flags>(group, {
    name: 'list',
    description,
    options: (command) => {
      addLimitOption(command, 50).option('--session <id>', 'only those of this session, at any depth of its tree')
      options?.(command)
      command
        .addOption(
          new Option('--state <state>', 'with --session: those that have ended, too')
            .choices([...askStates, 'any'])
            .default('open'),
        )
        .option('--after <id>', `those behind this ${entry}: the next page`)
    },
    examples,
    purpose: 'look',
    answer: async (troupe, { flags, namespace }) => {
      const { session, state, limit, after } = flags
      const sessionId = session === undefined ? undefined : await eitherId(troupe, session, 'session')
      const away = new AwayPartitions()
      const entries = await list(troupe, { sessionId, state, limit, after, onAway: away.note }, flags)
      const how = advice(entries.filter((one) => one.state === 'open'))
      return listing(entries, {
        columns: [
          { header: 'id', value: ({ id }) => id },
          { header: 'since', value: ({ askedAt }) => formatDuration(Date.now() - askedAt) },
          ...columns,
          { header: 'session', value: (one) => one.sessionId },
        ],
        object,
        empty: sessionId === undefined ? `${nothing} in namespace ${namespace}.` : 'There are none.',
        more: [moreNote(entries, limit, 'first'), how].filter(Boolean).join('\n') || undefined,
        failure: away.failure,
      })
    },
  })
}
