/** `troupe worker history <worker>`: the messages that a worker received, its replies, and the end of its runs, entry by entry. */
import type { Command } from 'commander'
import { entryLine } from '../../../words/lines/entry-line.ts'
import { escapeJson } from '../../../words/text/escape.ts'
import { fitText } from '../../../words/text/text-width.ts'
import { addRawOption, type RawFlag, wholeNumber } from '../../options.ts'
import { addLimitOption, addVerb } from '../verb.ts'

interface HistoryFlags extends RawFlag {
  readonly after?: number
  readonly limit: number
}

export function addHistoryCommand(group: Command): void {
  addVerb<HistoryFlags>(group, {
    name: 'history',
    description: 'what a worker received and said, and how its runs ended',
    takes: 'worker',
    options: (command) =>
      addRawOption(
        addLimitOption(
          command.option('--after <position>', 'only entries after this position', wholeNumber(0)),
          100,
          'at most so many entries',
        ),
        'entries as they are stored, one JSON object per line',
      ),
    examples: [
      ['troupe worker history 0199…', 'one line per entry, cut to the terminal'],
      ['troupe worker history 0199… --after 41 --raw', 'stored entries, from position 42 on'],
    ],
    purpose: 'look',
    answer: async (troupe, { id, flags: { after, limit, raw } }) => {
      const entries = await troupe.workers.get(id).history({ limit, after })
      const last = entries.at(-1)?.position
      const more = `Entries up to position ${last} are shown; more with --after ${last}.`
      return {
        objects: entries,
        lines: ({ columns }) =>
          entries.map(({ position, entry }) =>
            raw ? escapeJson(JSON.stringify(entry)) : fitText(entryLine(position, entry), columns),
          ),
        note: entries.length === 0 ? 'There are no such entries.' : entries.length === limit ? more : undefined,
      }
    },
  })
}
