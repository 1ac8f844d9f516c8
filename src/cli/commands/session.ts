/** `troupe session …`: what was submitted, how it stands, and its end. */
import { type Command, Option } from 'commander'
import type { Session } from '../../client/session.ts'
import { type ListedState, listedStates } from '../../client/session-summary.ts'
import type { SessionSummary } from '../../client/summaries.ts'
import { damageOf } from '../../core/errors.ts'
import { withTroupe } from '../host/connection.ts'
import { addConnectionOptions, addExamples, type ConnectionFlags, duration, wholeNumber } from '../options.ts'
import { print, printJson, printRows, tell } from '../terminal/output.ts'
import type { Column } from '../terminal/table.ts'
import { count } from '../view/count.ts'
import { formatDuration } from '../view/duration.ts'
import { paintState } from '../view/state-colour.ts'
import { nameAndKind } from '../view/worker-columns.ts'
import { addGroup } from './group.ts'
import { addSessionLimitCommand } from './session-limit.ts'
import { addSessionResultCommand } from './session-result.ts'
import { addSessionShowCommand } from './session-show.ts'
import { addSessionTreeCommand } from './session-tree.ts'

interface ListFlags extends ConnectionFlags {
  readonly state?: ListedState
  readonly kind?: string
  readonly limit: number
}

export function addSessionCommands(program: Command): void {
  const group = addGroup(program, 'session', 'list, show, tree, result, limit, close, cancel, prune', [
    ['troupe session list', 'the newest ones'],
    ['troupe session result 0199… --wait', 'how one ended'],
  ])
  addListCommand(group)
  addSessionShowCommand(group)
  addSessionTreeCommand(group)
  addSessionResultCommand(group)
  addSessionLimitCommand(group)
  addCloseCommand(group)
  addCancelCommand(group)
  addPruneCommand(group)
}

const damagedHelp = `
damaged: another program wrote over what this list tells of the session. The rest
of a session is not looked at here: troupe audit looks at all of it.`

function addListCommand(group: Command): void {
  const command = group
    .command('list')
    .description('sessions, newest first')
    .addOption(new Option('--state <state>', 'only sessions in this state').choices(listedStates))
    .option('--kind <kind>', 'only sessions of this kind')
    .option('--limit <n>', 'at most so many', wholeNumber(1), 20)
  addConnectionOptions(command)
  addExamples(command, [
    ['troupe session list --state active', 'what is going on'],
    ['troupe session list --json | jq -r .id', 'ids for a script'],
  ])
  command.addHelpText('after', damagedHelp)
  command.action((flags: ListFlags) =>
    withTroupe(flags, 'look', async (troupe, { namespace }) => {
      const { state, kind, limit } = flags
      const sessions = await troupe.sessions.list({ limit, state, kind })
      const such = state === undefined && kind === undefined ? '' : 'such '
      printRows(sessions, listColumns(Date.now()), flags, `There are no ${such}sessions in namespace ${namespace}.`)
      if (sessions.length === limit && !flags.json) tell(`The newest ${limit} are shown; more with --limit.`)
    }),
  )
}

function listColumns(now: number): Column<SessionSummary>[] {
  return [
    { header: 'id', value: ({ id }) => id },
    { header: 'name', value: ({ name, kind }) => nameAndKind(name, kind), shrinksTo: 8 },
    { header: 'state', value: ({ state }) => state, paint: (cell, { state }) => paintState(cell, state) },
    { header: 'age', value: ({ createdAt }) => createdAt && formatDuration(now - createdAt), align: 'right' },
    { header: 'workers', value: ({ workers }) => workers, align: 'right' },
  ]
}

function addCloseCommand(group: Command): void {
  const command = group
    .command('close')
    .description('end a conversation, as soon as all that waits has been answered')
    .argument('<session>', 'id of the session')
  addConnectionOptions(command)
  addExamples(command, [['troupe session close 0199…', 'one that was submitted with --keep-open']])
  command.action((id: string, flags: ConnectionFlags) =>
    withTroupe(flags, 'change', async (troupe) => {
      const session = troupe.sessions.get(id)
      await session.close()
      const state = await stateOf(session)
      if (flags.json) printJson({ type: 'closeRequested', sessionId: session.id, state })
      else print(`session ${session.id} ${closeText(state)}`)
    }),
  )
}

function addCancelCommand(group: Command): void {
  const command = group
    .command('cancel')
    .description('cancel a session: from now on nothing of it starts, spawns or commits')
    .argument('<session>', 'id of the session')
    .option('--reason <text>', 'why; shown in the report')
  addConnectionOptions(command)
  addExamples(command, [['troupe session cancel 0199… --reason "wrong folder"', '']])
  command.action((id: string, flags: ConnectionFlags & { reason?: string }) =>
    withTroupe(flags, 'change', async (troupe) => {
      const session = troupe.sessions.get(id)
      const isCancelled = await session.cancel(flags.reason)
      const state = await stateOf(session)
      if (flags.json) printJson({ type: 'cancelRequested', sessionId: session.id, accepted: isCancelled, state })
      else print(`session ${session.id} ${isCancelled ? cancelText(state) : `had already ended: it is ${state}`}`)
    }),
  )
}

/** What was asked for is done, also of a session that cannot be read. */
async function stateOf(session: Session): Promise<ListedState> {
  try {
    return (await session.standing()).state
  } catch (thrown) {
    if (damageOf(thrown) === undefined) throw thrown
    return 'damaged'
  }
}

function closeText(state: ListedState): string {
  if (state === 'damaged') return `has ended, or ends when what waits is answered${note(state)}`
  return state === 'active' ? 'ends when what waits is answered' : `is ${state}`
}

function cancelText(state: ListedState): string {
  return `is ${state === 'damaged' ? 'cancelling' : state}${note(state)}`
}

function note(state: ListedState): string {
  return state === 'damaged' ? '; it is damaged: troupe session show names what another program wrote over' : ''
}

function addPruneCommand(group: Command): void {
  const command = group
    .command('prune')
    .description('remove finished sessions with all that belongs to them')
    .option(
      '--older-than <duration>',
      'only those that finished longer ago, such as 12h; default: the retention',
      duration,
    )
  addConnectionOptions(command)
  addExamples(command, [
    ['troupe session prune', 'what nodes would remove in time: by default after 7 days'],
    ['troupe session prune --older-than 0', 'all that is finished'],
  ])
  command.addHelpText('after', '\nA finished session stays while one of its detached workers still runs or waits.')
  command.action((flags: ConnectionFlags & { olderThan?: number }) =>
    withTroupe(flags, 'change', async (troupe) => {
      const pruned = await troupe.sessions.prune({ olderThanMs: flags.olderThan })
      if (flags.json) printJson({ type: 'pruned', sessions: pruned })
      else print(`${count(pruned, 'session')} pruned`)
    }),
  )
}
