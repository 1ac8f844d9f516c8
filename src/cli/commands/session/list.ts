/** `troupe session list`: the newest sessions. */
import { type Command, Option } from 'commander'
import { type ListedState, listedStates } from '../../../client/session/session-state.ts'
import type { ListedSession } from '../../../client/summaries.ts'
import { costText } from '../../../words/amounts.ts'
import { formatDuration } from '../../../words/duration.ts'
import { nameAndKind } from '../../../words/worker-name.ts'
import { listing, moreNote } from '../../view/answer.ts'
import { withSessionIds } from '../../view/objects.ts'
import { stateStyle } from '../../view/page.ts'
import type { Column } from '../../view/table.ts'
import { AwayPartitions } from '../away-partitions.ts'
import { addLimitOption, addVerb } from '../verb.ts'

interface ListFlags {
  readonly state?: ListedState
  readonly kind?: string
  readonly name?: string
  readonly before?: string
  readonly limit: number
}

export function addListCommand(group: Command): void {
  addVerb<ListFlags>(group, {
    name: 'list',
    description: 'sessions, newest first',
    options: (command) =>
      addLimitOption(
        command
          .addOption(new Option('--state <state>', 'only sessions in this state').choices(listedStates))
          .option('--kind <kind>', 'only sessions of this kind')
          .option('--name <text>', 'only sessions whose name contains this text')
          .option('--before <session>', 'only sessions older than this one: the next page'),
        20,
      ),
    examples: [
      ['troupe session list --state active', 'sessions that go on'],
      ['troupe session list --name invoice', 'by a part of the name, in capitals or not'],
      ['troupe session list --json | jq -r .sessionId', 'ids for a script'],
    ],
    details: `damaged: another program overwrote data of the session that this list shows. The
list does not check all data of a session; troupe audit does.
A list by kind or name looks at the newest 5 000 sessions, and says where to go on.`,
    purpose: 'look',
    answer: async (troupe, { flags: { state, kind, name, before, limit }, namespace }) => {
      const away = new AwayPartitions()
      const query = { limit, state, kind, name, before, onAway: away.note }
      const { sessions, next } = await troupe.sessions.page(query)
      const isPart = state !== undefined || kind !== undefined || name !== undefined || before !== undefined
      const such = isPart ? 'such ' : ''
      return listing(sessions, {
        columns: columnsOf(sessions, Date.now()),
        object: withSessionIds,
        empty:
          next === null
            ? `There are no ${such}sessions in namespace ${namespace}.`
            : `None of those that were looked at is such a session; ${goOn(next)}`,
        more:
          moreNote(sessions, limit, 'newest') ??
          (next === null ? undefined : `Not all sessions were looked at; ${goOn(next)}`),
        failure: away.failure,
      })
    },
  })
}

function goOn(next: string): string {
  return `go on with --before ${next}.`
}

/** A session that is paused goes on later: for programs it is active. */
function shownState({ state, paused }: ListedSession): string {
  return state === 'active' && paused !== null ? 'paused' : state
}

function columnsOf(sessions: readonly ListedSession[], now: number): Column<ListedSession>[] {
  return [
    { header: 'id', value: ({ id }) => id },
    { header: 'name', value: ({ name, kind }) => nameAndKind(name, kind), shrinksTo: 8 },
    { header: 'state', value: shownState, style: (session) => stateStyle(shownState(session)) },
    { header: 'age', value: ({ createdAt }) => createdAt && formatDuration(now - createdAt), align: 'right' },
    { header: 'workers', value: ({ workers }) => workers, align: 'right', leftOut: 2 },
    ...(sessions.some(({ cost }) => cost !== null) ? [costColumn] : []),
    ...(sessions.some(({ forkedFrom }) => forkedFrom !== null) ? [copyColumn] : []),
    ...(sessions.some(({ openAsks }) => openAsks > 0) ? [asksColumn(now)] : []),
  ]
}

const costColumn: Column<ListedSession> = {
  header: 'cost',
  value: ({ cost }) => cost && costText(cost),
  align: 'right',
  leftOut: 1,
}

const copyColumn: Column<ListedSession> = {
  header: 'copy of',
  value: ({ forkedFrom }) => forkedFrom && `${forkedFrom.sessionId}${forkedFrom.dryRun ? ', a dry run' : ''}`,
  leftOut: 3,
}

function asksColumn(now: number): Column<ListedSession> {
  const text = ({ openAsks, askedAt }: ListedSession) =>
    askedAt === null
      ? ''
      : `${openAsks === 1 ? 'an answer' : `${openAsks} answers`}, for ${formatDuration(now - askedAt)}`
  return { header: 'waits for', value: text, shrinksTo: 9 }
}
