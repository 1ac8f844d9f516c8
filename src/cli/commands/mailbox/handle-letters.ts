/** `troupe mailbox redrive` and `troupe mailbox dismiss`: puts dead letters back, or marks them as dealt with. */
import type { Command } from 'commander'
import type { Troupe } from '../../../client/client.ts'
import type { LettersQuery } from '../../../client/queries.ts'
import type { Dismissed, Redriven } from '../../../client/summaries.ts'
import { InputError } from '../../../core/errors.ts'
import { count } from '../../../words/amounts.ts'
import { endWith, exitCodes } from '../../exit-code.ts'
import { withTroupe } from '../../host/connection.ts'
import type { ConnectionFlags, Example } from '../../options.ts'
import { printJson, tell } from '../../terminal/output.ts'
import { ProgressLine } from '../../terminal/progress-line.ts'
import { listing } from '../../view/answer.ts'
import { handledText } from '../../view/lines/handled-letters.ts'
import type { Column } from '../../view/table.ts'
import { addCommand, eitherId, printAnswer } from '../verb.ts'

export function addRedriveCommand(group: Command): void {
  addHandlingCommand<Redriven>(group, {
    verb: 'redrive',
    description: 'put dead letters back into their mailboxes: each once, those of one worker oldest first',
    examples: [
      ['troupe mailbox redrive 0199…', 'all letters of a worker that nobody dealt with yet'],
      ['troupe mailbox redrive 0199… --id 1767225600000-0', 'one of them'],
      ['troupe mailbox redrive 0199… --new-session', 'its session has ended: a new one begins with the message'],
      ['troupe mailbox redrive --all --json', 'all letters; one object for each'],
    ],
    options: (command) =>
      command.option('--new-session', 'begin a new session with each message, like the session of the letter'),
    columns: [
      ...handledColumns,
      { header: 'what', value: ({ status }) => (status === 'again' ? 'put back before' : status) },
      {
        header: 'put back as',
        value: ({ messageId, newSessionId }) => messageId ?? (newSessionId && `session ${newSessionId}`),
      },
      whyNot,
    ],
    none: 'There is nothing to put back.',
    past: 'put back',
    handle: (troupe, query, { newSession }) => troupe.redrive({ ...query, newSession }),
  })
}

export function addDismissCommand(group: Command): void {
  addHandlingCommand<Dismissed>(group, {
    verb: 'dismiss',
    description:
      'mark dead letters as dealt with, so that `doctor` no longer warns of them; they stay as evidence, and can still be put back by their ids',
    examples: [
      ['troupe mailbox dismiss 0199… --id 1767225600000-0', 'one of a worker'],
      ['troupe mailbox dismiss --all', 'all letters that were not put back'],
    ],
    columns: [
      ...handledColumns,
      { header: 'what', value: ({ status }) => (status === 'again' ? 'dismissed before' : status) },
      whyNot,
    ],
    none: 'There is nothing to dismiss.',
    past: 'dismissed',
    handle: (troupe, query) => troupe.dismiss(query),
  })
}

type Handled = Pick<Redriven | Dismissed, 'letterId' | 'workerId' | 'status' | 'refusal'>

/** A command that does the same with each chosen letter. */
interface Handling<Done extends Handled> {
  readonly verb: string
  readonly description: string
  readonly examples: readonly Example[]
  readonly options?: (command: Command) => Command
  readonly columns: readonly Column<Done>[]
  /** The note if there is nothing to do. */
  readonly none: string
  /** What has become of a letter with which it was done. */
  readonly past: string
  readonly handle: (troupe: Troupe, query: LettersQuery<Done>, flags: LetterFlags) => Promise<readonly Done[]>
}

function addHandlingCommand<Done extends Handled>(group: Command, handling: Handling<Done>): void {
  const { verb, description, examples, options = (command: Command) => command } = handling
  const command = addCommand(group, {
    name: verb,
    description,
    options: (command) =>
      options(
        command
          .argument('[worker]', 'id of the worker, or of a session for its first worker')
          .option('--all', 'letters of all workers')
          .option('--id <letter>', 'only this letter'),
      ),
    examples,
  })
  command.action((worker: string | undefined, { all = false, id, ...flags }: ConnectionFlags & LetterFlags) => {
    if ((worker === undefined) !== all || (all && id !== undefined))
      throw new InputError(`mailbox ${verb} takes the id of a worker, with or without --id, or --all.`)
    return withTroupe(flags, 'change', async (troupe) => {
      const workerId = worker === undefined ? undefined : await eitherId(troupe, worker, 'worker')
      const query = { all, ...(workerId && { workerId }), ...(id && { letter: id }) }
      await handleLetters(troupe, query, handling, flags)
    })
  })
}

/** Thousands of letters take a while. If the command has to stop, it still shows the letters that it handled. */
async function handleLetters<Done extends Handled>(
  troupe: Troupe,
  query: LettersQuery<Done>,
  { columns, none, past, handle }: Handling<Done>,
  flags: ConnectionFlags & LetterFlags,
): Promise<void> {
  const done: Done[] = []
  // With --json each letter is printed as soon as it is handled.
  const show = () =>
    flags.json || printAnswer(listing(done, { columns, empty: none, more: handledText(done, past) }), flags)
  try {
    using progress = new ProgressLine()
    const onProgress = (one: Done) => {
      done.push(one)
      if (flags.json) printJson(one)
      else progress.update(`${count(done.length, 'dead letter')} so far`)
    }
    await handle(troupe, { ...query, onProgress }, flags)
  } catch (thrown) {
    if (done.length > 0) {
      show()
      tell(`troupe: only these ${done.length} are done; the same command continues with the others`)
    }
    throw thrown
  }
  show()
  if (done.some(({ status }) => status === 'refused')) endWith(exitCodes.failed)
}

interface LetterFlags {
  readonly all?: boolean
  readonly id?: string
  readonly newSession?: boolean
}

const handledColumns: readonly Column<Handled>[] = [
  { header: 'id', value: ({ letterId }) => letterId },
  { header: 'worker', value: ({ workerId }) => workerId },
]
const whyNot: Column<Handled> = { header: 'why not', value: ({ refusal }) => refusal?.message ?? '', shrinksTo: 8 }
