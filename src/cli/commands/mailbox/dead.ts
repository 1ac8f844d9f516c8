/** `troupe mailbox dead`: the dead letters: messages that took their node down again and again. */
import type { Command } from 'commander'
import type { DeadLetter } from '../../../client/summaries.ts'
import type { Failure } from '../../../core/worker/run/failure.ts'
import { formatMoment } from '../../../words/duration.ts'
import { failureCause, messageLine } from '../../../words/lines/message-line.ts'
import { listing, moreNote } from '../../view/answer.ts'
import type { Column } from '../../view/table.ts'
import { AwayPartitions } from '../away-partitions.ts'
import { addLimitOption, addVerb } from '../verb.ts'

export function addDeadCommand(group: Command): void {
  addVerb<{ readonly limit: number; readonly open?: true }>(group, {
    name: 'dead',
    description: 'dead letters, newest first: messages that took their node down again and again',
    options: (command) =>
      addLimitOption(command.option('--open', 'only those that were neither put back nor dismissed'), 50),
    examples: [
      ['troupe mailbox dead --open', 'those that somebody must still deal with'],
      ['troupe mailbox dead --json', 'with all the evidence'],
    ],
    purpose: 'look',
    answer: async (troupe, { flags: { limit, open }, namespace }) => {
      const away = new AwayPartitions()
      const letters = await troupe.deadLetters({ limit, open, onAway: away.note })
      return listing(letters, {
        columns,
        object: (letter) => ({ letterId: letter.id, ...letter }),
        empty: `There are no ${open ? 'open ' : ''}dead letters in namespace ${namespace}.`,
        more: moreNote(letters, limit, 'newest'),
        failure: away.failure,
      })
    },
  })
}

const columns: Column<DeadLetter>[] = [
  { header: 'id', value: ({ id }) => id },
  { header: 'put aside', value: ({ id }) => formatMoment(Number(id.split('-')[0])) },
  { header: 'worker', value: ({ workerId }) => workerId },
  { header: 'killed by', value: ({ killedBy }) => killedBy, shrinksTo: 8 },
  { header: 'message', value: ({ message }) => (message === null ? '' : messageLine(message)), shrinksTo: 8 },
  { header: 'since then', value: laterText, shrinksTo: 9 },
  { header: 'why', value: ({ evidence }) => reasonText(evidence), shrinksTo: 8, atMost: 100 },
]

function reasonText({ failure, ...others }: DeadLetter['evidence']): string {
  return failure === undefined ? JSON.stringify(others) : failureCause(failure as Failure)
}

function laterText({ redrivenAs, dismissed }: DeadLetter): string {
  if (redrivenAs !== null) return `put back as ${redrivenAs}`
  return dismissed ? 'dismissed' : ''
}
