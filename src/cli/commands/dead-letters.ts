/** `troupe mailbox dead|redrive|dismiss`: what was put aside, and what becomes of it. */
import type { Command } from 'commander'
import type { Troupe } from '../../client/client.ts'
import type { LettersQuery } from '../../client/queries.ts'
import type { DeadLetter, Dismissed, Redriven } from '../../client/summaries.ts'
import { InputError } from '../../core/errors.ts'
import type { Failure } from '../../core/worker/failure.ts'
import { exitCodes } from '../exit-code.ts'
import { withTroupe } from '../host/connection.ts'
import { addConnectionOptions, addExamples, type ConnectionFlags, type Example, wholeNumber } from '../options.ts'
import { printJson, printRows, tell } from '../terminal/output.ts'
import type { Column } from '../terminal/table.ts'
import { count } from '../view/count.ts'
import { formatMoment } from '../view/duration.ts'
import { failureCause } from '../view/failure-text.ts'
import { messageLine } from '../view/message-line.ts'
import { ProgressLine } from '../view/progress-line.ts'

export function addDeadCommand(group: Command): void {
  const command = group
    .command('dead')
    .description('what took its node down again and again and was put aside, newest first')
    .option('--limit <n>', 'at most so many', wholeNumber(1), 50)
  addConnectionOptions(command)
  addExamples(command, [['troupe mailbox dead --json', 'with all the evidence']])
  command.action((flags: ConnectionFlags & { limit: number }) =>
    withTroupe(flags, 'look', async (troupe, { namespace }) => {
      const letters = await troupe.deadLetters({ limit: flags.limit })
      printRows(letters, deadColumns, flags, `There are no dead letters in namespace ${namespace}.`)
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
  { header: 'since then', value: whatSince, shrinksTo: 9 },
  { header: 'why', value: ({ evidence }) => whyDead(evidence), shrinksTo: 8 },
]

function whyDead({ failure, ...rest }: DeadLetter['evidence']): string {
  return failure === undefined ? JSON.stringify(rest) : failureCause(failure as Failure)
}

function whatSince({ redrivenAs, dismissed }: DeadLetter): string {
  if (redrivenAs !== null) return `put back as ${redrivenAs}`
  return dismissed ? 'dismissed' : ''
}

export function addRedriveCommand(group: Command): void {
  addHandlingCommand<Redriven>(group, {
    verb: 'redrive',
    description:
      'puts messages that were put aside back into their mailboxes, each once, those of a worker oldest first',
    examples: [
      ['troupe mailbox redrive 0199…', 'all of a worker that were not dealt with yet'],
      ['troupe mailbox redrive 0199… --id 1767225600000-0', 'one of them'],
      ['troupe mailbox redrive --all --json', 'all there are; one object for each'],
    ],
    columns: [
      ...handledColumns,
      { header: 'what', value: ({ status }) => (status === 'again' ? 'put back before' : status) },
      { header: 'put back as', value: ({ messageId }) => messageId ?? '' },
      whyNot,
    ],
    none: 'There is nothing to put back.',
    handle: (troupe, query) => troupe.redrive(query),
  })
}

export function addDismissCommand(group: Command): void {
  addHandlingCommand<Dismissed>(group, {
    verb: 'dismiss',
    description:
      'says that dead letters are dealt with, so that `doctor` warns of them no more; they stay, as evidence, and go back by their ids all the same',
    examples: [
      ['troupe mailbox dismiss 0199… --id 1767225600000-0', 'one of a worker'],
      ['troupe mailbox dismiss --all', 'all that were not put back'],
    ],
    columns: [
      ...handledColumns,
      { header: 'what', value: ({ status }) => (status === 'again' ? 'dismissed before' : status) },
      whyNot,
    ],
    none: 'There is nothing to dismiss.',
    handle: (troupe, query) => troupe.dismiss(query),
  })
}

type Handled = Pick<Redriven | Dismissed, 'letterId' | 'workerId' | 'status' | 'refusal'>

/** A command that does the same with each letter that is chosen. */
interface Handling<Done extends Handled> {
  readonly verb: string
  readonly description: string
  readonly examples: readonly Example[]
  readonly columns: readonly Column<Done>[]
  /** What is said when there is nothing to do. */
  readonly none: string
  readonly handle: (troupe: Troupe, query: LettersQuery<Done>) => Promise<readonly Done[]>
}

function addHandlingCommand<Done extends Handled>(group: Command, handling: Handling<Done>): void {
  const { verb } = handling
  const command = group
    .command(verb)
    .description(handling.description)
    .argument('[worker]', 'id of the worker')
    .option('--all', 'those of all workers')
    .option('--id <letter>', 'this one alone')
  addConnectionOptions(command)
  addExamples(command, handling.examples)
  command.action((workerId: string | undefined, { all = false, id, ...flags }: ConnectionFlags & LetterFlags) => {
    if ((workerId === undefined) !== all || (all && id !== undefined))
      throw new InputError(`mailbox ${verb} takes the id of a worker, with or without --id, or --all.`)
    return withTroupe(flags, 'change', (troupe) =>
      handleLetters(troupe, { all, ...(workerId && { workerId }), ...(id && { letter: id }) }, handling, flags),
    )
  })
}

/** Of thousands it takes a while: what became of them is told also where it cannot go on. */
async function handleLetters<Done extends Handled>(
  troupe: Troupe,
  query: LettersQuery<Done>,
  { columns, none, handle }: Handling<Done>,
  flags: ConnectionFlags,
): Promise<void> {
  const done: Done[] = []
  const show = () => flags.json || printRows(done, columns, flags, none)
  try {
    using progress = new ProgressLine()
    const onProgress = (one: Done) => {
      done.push(one)
      if (flags.json) printJson(one)
      else progress.update(`${count(done.length, 'message')} so far`)
    }
    await handle(troupe, { ...query, onProgress })
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

interface LetterFlags {
  readonly all?: boolean
  readonly id?: string
}

const handledColumns: readonly Column<Handled>[] = [
  { header: 'id', value: ({ letterId }) => letterId },
  { header: 'worker', value: ({ workerId }) => workerId },
]
const whyNot: Column<Handled> = { header: 'why not', value: ({ refusal }) => refusal?.message ?? '', shrinksTo: 8 }
