/** `troupe mailbox …`: what waits to be received, and what was put aside. */
import type { Command } from 'commander'
import type { DeadLetter, Redriven, Troupe } from '../client/client.ts'
import type { RedriveQuery } from '../client/queries.ts'
import { InputError } from '../core/errors.ts'
import type { Failure } from '../core/failure.ts'
import type { Mail } from '../core/message.ts'
import { withTroupe } from './connection.ts'
import { formatMoment } from './duration.ts'
import { exitCodes } from './exit-code.ts'
import { failureCause } from './failure-text.ts'
import { count } from './findings.ts'
import { addGroup } from './group.ts'
import { messageLine } from './message-line.ts'
import { addConnectionOptions, addExamples, type ConnectionFlags, wholeNumber } from './options.ts'
import { printJson, printRows, tell } from './output.ts'
import { ProgressLine } from './progress-line.ts'
import type { Column } from './table.ts'

export function addMailboxCommands(program: Command): void {
  const group = addGroup(program, 'mailbox', 'what waits; dead letters', [
    ['troupe mailbox dead', 'what was put aside'],
    ['troupe mailbox redrive 0199…', 'put it back'],
  ])
  addListCommand(group)
  addDeadCommand(group)
  addRedriveCommand(group)
}

function addListCommand(group: Command): void {
  const command = group
    .command('list')
    .description('messages that wait for a worker, in the order in which it will receive them')
    .argument('<worker>', 'id of the worker')
    .option('--limit <n>', 'at most so many of each lane', wholeNumber(1), 1_000)
  addConnectionOptions(command)
  addExamples(command, [['troupe mailbox list 0199…', '']])
  command.action((id: string, flags: ConnectionFlags & { limit: number }) =>
    withTroupe(flags, 'look', async (troupe) => {
      const { limit } = flags
      const mails = await troupe.workers.get(id).mailbox({ limit })
      printRows(mails, mailColumns, flags, 'The mailbox is empty.')
      const isFull = [...Map.groupBy(mails, ({ lane }) => lane).values()].some(({ length }) => length === limit)
      if (isFull && !flags.json) tell(`The first ${limit} of each lane are shown; more with --limit.`)
    }),
  )
}

const mailColumns: Column<Mail>[] = [
  { header: 'lane', value: ({ lane }) => lane },
  { header: 'number', value: ({ sequence }) => sequence, align: 'right' },
  { header: 'message', value: ({ message }) => messageLine(message), shrinksTo: 20 },
]

function addDeadCommand(group: Command): void {
  const command = group
    .command('dead')
    .description('what took its node down again and again and was put aside, newest first')
    .option('--limit <n>', 'at most so many', wholeNumber(1), 50)
  addConnectionOptions(command)
  addExamples(command, [['troupe mailbox dead --json', 'with all the evidence']])
  command.action((flags: ConnectionFlags & { limit: number }) =>
    withTroupe(flags, 'look', async (troupe) => {
      const letters = await troupe.deadLetters({ limit: flags.limit })
      printRows(letters, deadColumns, flags, 'There are no dead letters.')
      if (letters.length === flags.limit && !flags.json) tell(`The newest ${flags.limit} are shown; more with --limit.`)
    }),
  )
}

const deadColumns: Column<DeadLetter>[] = [
  { header: 'id', value: ({ id }) => id },
  { header: 'put aside', value: ({ id }) => formatMoment(Number(id.split('-')[0])) },
  { header: 'worker', value: ({ workerId }) => workerId },
  { header: 'killed by', value: ({ killedBy }) => killedBy, shrinksTo: 8 },
  { header: 'message', value: ({ message }) => (message === null ? '' : messageLine(message)), shrinksTo: 8 },
  { header: 'put back as', value: ({ redrivenAs }) => redrivenAs ?? '' },
  { header: 'why', value: ({ evidence }) => whyDead(evidence), shrinksTo: 8 },
]

function whyDead({ failure, ...rest }: DeadLetter['evidence']): string {
  return failure === undefined ? JSON.stringify(rest) : failureCause(failure as Failure)
}

function addRedriveCommand(group: Command): void {
  const command = group
    .command('redrive')
    .description(
      'puts messages that were put aside back into their mailboxes, each once, those of a worker oldest first',
    )
    .argument('[worker]', 'id of the worker')
    .option('--all', 'those of all workers')
    .option('--id <letter>', 'this one alone')
  addConnectionOptions(command)
  addExamples(command, [
    ['troupe mailbox redrive 0199…', 'all of a worker that were not put back yet'],
    ['troupe mailbox redrive 0199… --id 1767225600000-0', 'one of them'],
    ['troupe mailbox redrive --all --json', 'all there are; one object for each'],
  ])
  command.action((workerId: string | undefined, { all = false, id, ...flags }: ConnectionFlags & RedriveFlags) => {
    if ((workerId === undefined) !== all || (all && id !== undefined))
      throw new InputError('mailbox redrive takes the id of a worker, with or without --id, or --all.')
    return withTroupe(flags, 'change', (troupe) =>
      redrive(troupe, { all, ...(workerId && { workerId }), ...(id && { letter: id }) }, flags),
    )
  })
}

/** Of thousands it takes a while: what became of them is told also where it cannot go on. */
async function redrive(troupe: Troupe, query: RedriveQuery, flags: ConnectionFlags): Promise<void> {
  const done: Redriven[] = []
  const show = () => flags.json || printRows(done, redrivenColumns, flags, 'There is nothing to put back.')
  try {
    using progress = new ProgressLine()
    const onProgress = (redriven: Redriven) => {
      done.push(redriven)
      if (flags.json) printJson(redriven)
      else progress.update(`${count(done.length, 'message')} so far`)
    }
    await troupe.redrive({ ...query, onProgress })
  } catch (thrown) {
    if (done.length > 0) {
      show()
      tell(`troupe: it came as far as these ${done.length}; the same command goes on with the others`)
    }
    throw thrown
  }
  show()
  if (done.some(({ status }) => status === 'refused')) process.exitCode = exitCodes.failed
}

interface RedriveFlags {
  readonly all?: boolean
  readonly id?: string
}

const redrivenColumns: Column<Redriven>[] = [
  { header: 'id', value: ({ letterId }) => letterId },
  { header: 'worker', value: ({ workerId }) => workerId },
  { header: 'what', value: ({ status }) => (status === 'again' ? 'put back before' : status) },
  { header: 'put back as', value: ({ messageId }) => messageId ?? '' },
  { header: 'why not', value: ({ refusal }) => refusal?.message ?? '', shrinksTo: 8 },
]
