/** `troupe worker history <id>`: what a worker received and said, and how its runs ended, entry by entry. */
import type { Command } from 'commander'
import type { Entry } from '../../core/history/entry.ts'
import { withTroupe } from '../host/connection.ts'
import { addConnectionOptions, addExamples, type ConnectionFlags, wholeNumber } from '../options.ts'
import { escapeLine } from '../terminal/escape.ts'
import { columnsOf, print, printJson, printText, tell } from '../terminal/output.ts'
import { fitText } from '../terminal/text-width.ts'
import { chatLine } from '../view/chat-line.ts'
import { count } from '../view/count.ts'
import { formatDuration, formatTime } from '../view/duration.ts'
import { failureCause, failureSentence } from '../view/failure-text.ts'
import { messageLine, valueLine } from '../view/message-line.ts'

interface HistoryFlags extends ConnectionFlags {
  readonly after?: number
  readonly limit: number
  readonly raw?: boolean
}

export function addWorkerHistoryCommand(group: Command): void {
  const command = group
    .command('history')
    .description('what a worker received and said, and how its runs ended')
    .argument('<worker>', 'id of the worker')
    .option('--after <position>', 'only entries after this position', wholeNumber(0))
    .option('--limit <n>', 'at most so many entries', wholeNumber(1), 100)
    .option('--raw', 'entries as they are stored, one JSON object per line')
  addConnectionOptions(command)
  addExamples(command, [
    ['troupe worker history 0199…', 'one line per entry, cut to the terminal'],
    ['troupe worker history 0199… --after 41 --raw', 'all that is stored, from position 42 on'],
  ])
  command.action((id: string, flags: HistoryFlags) =>
    withTroupe(flags, 'look', async (troupe) => {
      const { after, limit } = flags
      const entries = await troupe.workers.get(id).history({ limit, after })
      for (const line of entries) {
        if (flags.json) printJson(line)
        else if (flags.raw) printText(JSON.stringify(line.entry))
        else print(fitText(entryLine(line.position, line.entry), columnsOf(process.stdout)))
      }
      if (flags.json) return
      if (entries.length === 0) tell('There are no such entries.')
      else if (entries.length === limit)
        tell(`${limit} entries are shown; more with --after ${entries.at(-1)?.position}.`)
    }),
  )
}

/** `12  12:00:01  run 3  received input: {"folder":"docs"}` */
export function entryLine(position: number, entry: Entry): string {
  const run = entry.run === undefined ? '' : `  run ${entry.run}`
  // What another program wrote over has no time.
  const time = typeof entry.at === 'number' ? formatTime(entry.at) : '--:--:--'
  return `${String(position).padStart(4)}  ${time}${run}  ${escapeLine(entryText(entry))}`
}

function entryText(entry: Entry): string {
  switch (entry.type) {
    case 'received':
      return `received ${messageLine(entry.message)}${askedFor(entry)}`
    case 'completed':
      return `completed: ${valueLine(entry.value)}`
    case 'failed':
      return `failed: ${failureSentence(entry.failure)}`
    case 'attemptFailed':
      return `try ${entry.failure.attempt} failed, again in ${formatDuration(entry.retryMs)}: ${failureCause(entry.failure)}`
    case 'cancelled':
      return 'cancelled'
    case 'system':
    case 'user':
    case 'assistant':
    case 'toolResult':
    case 'error':
    case 'summary':
    case 'toolStarted':
    case 'delegated':
    case 'blank':
      return chatLine(entry)
    default:
      // Written by a newer troupe.
      return JSON.stringify(entry)
  }
}

function askedFor({ spawned, sent, timers }: Extract<Entry, { type: 'received' }>): string {
  const parts = [
    spawned && `spawned ${spawned.map(({ kind, name }) => (name === kind ? kind : `${kind} ${name}`)).join(', ')}`,
    sent && `sent ${count(sent.length, 'message')}`,
    timers &&
      `set ${timers.length === 1 ? 'a timer' : `${timers.length} timers`} (${timers.map(({ ms }) => formatDuration(ms)).join(', ')})`,
  ].filter((part) => part !== undefined)
  return parts.length === 0 ? '' : `; ${parts.join('; ')}`
}
