/**
 * Duty: what a person may type in a conversation at the terminal beside messages: `/status` and its like.
 * TYPED-COMMANDS-1 Only a whole word behind a slash is a command: `/etc/hosts` is a message. A line that begins with two slashes is a message, too: its
 * first slash is left out.
 * TYPED-COMMANDS-2 A command is no message: no model reads it.
 */
import type { Session } from '../../../client/session/session.ts'
import { didYouMean } from '../../../core/check/closest.ts'
import type { SendTime } from '../../../core/worker/message/steer.ts'
import { tokensText } from '../../../words/amounts.ts'
import { wrapText } from '../../../words/text/text-width.ts'
import { toComplaint } from '../../exit-code.ts'
import { safe } from '../../terminal/output.ts'
import { factLines } from '../../view/answer.ts'
import type { Page } from '../../view/page.ts'
import { tableLines } from '../../view/table.ts'
import { usageText, workerColumns } from '../../view/worker-columns.ts'
import { sessionFacts } from '../session/show.ts'
import { sessionTreeLines } from '../session/tree.ts'
import { compactedText } from '../worker/compact.ts'

interface ChatCommand {
  readonly does: string
  /** What may be typed after the word; absent: nothing. */
  readonly takes?: string
  /** Lines for the person. */
  readonly lines: (session: Session, place: Place, text: string) => Promise<readonly string[]>
}

interface Place {
  readonly page: Page
  readonly signal: AbortSignal
}

const commands: Readonly<Record<string, ChatCommand>> = {
  cancel: {
    does: 'ends the run in progress; what waits begins the next one',
    lines: async ({ root }) =>
      (await root.cancelRun('cancelled by the person at the terminal')) ? [] : ['troupe: no run is in progress'],
  },
  clear: {
    does: 'the model forgets the whole conversation; troupe worker redo takes that back',
    lines: async ({ root }) => {
      await root.undo({ all: true })
      return ['troupe: the model has forgotten the conversation']
    },
  },
  compact: {
    does: 'has a summary written for the beginning of the conversation; what you type behind it, it must hold',
    takes: '[text]',
    lines: async ({ root }, { signal }, instruction) => {
      const came = await root.compact({ signal, ...(instruction !== '' && { instruction }) })
      return [safe(compactedText(root.id, came))]
    },
  },
  context: { does: 'what the model knows: messages, and about how many tokens they take', lines: contextLines },
  status: {
    does: 'the state of the session, and what it waits for',
    lines: async (session, { page }) => sessionFacts(await session.report(), page),
  },
  tree: {
    does: 'the workers of the session, each under its parent',
    lines: async (session, { page }) => sessionTreeLines(await session.report(), page),
  },
  usage: {
    does: 'model calls, tool calls and tokens of the whole session',
    lines: async (session) => {
      const { usage } = (await session.report()).session
      return [usageText(usage) ?? 'No model was called yet.']
    },
  },
  workers: {
    does: 'the workers of the session',
    lines: async (session, { page }) => {
      const { workers } = await session.report()
      return tableLines(workers, workerColumns(workers), page)
    },
  },
}

/** Messages that do not wait for the end of the run in progress. */
const urgent: Readonly<Record<string, string>> = {
  interrupt: 'the message ends what the run in progress does, and comes into that run',
  steer: 'the message comes into the run in progress, before its next step',
}

const quitWords: readonly string[] = ['quit', 'q']
const words = [...Object.keys(commands), ...Object.keys(urgent), 'help', 'quit'].toSorted((a, b) => a.localeCompare(b))

/** What a typed line means. `said`: lines for the person. */
export type Chatted =
  | { readonly kind: 'message'; readonly text: string; readonly when?: SendTime }
  | { readonly kind: 'quit' }
  | { readonly kind: 'said'; readonly lines: readonly string[] }

/** `session`: undefined before the first message. `more`: what the caller has taken before. */
export async function chatted(
  typed: string,
  session: Session | undefined,
  place: Place,
  more: TypedWords = [],
): Promise<Chatted> {
  const [, word, rest = ''] = /^\s*\/([A-Za-z-]+)(?:\s+([\s\S]*))?$/.exec(typed) ?? []
  if (word === undefined) return { kind: 'message', text: typed.replace(/^(\s*)\/\//, '$1/') }
  if (quitWords.includes(word)) return { kind: 'quit' }
  if (word === 'help')
    return {
      kind: 'said',
      lines: helpLines([...typedWords, ['/quit', 'closes the conversation, like Ctrl+D']], place.page),
    }
  if (word === 'steer' || word === 'interrupt')
    return rest.trim() === ''
      ? said(`troupe: /${word} needs a message behind it`)
      : { kind: 'message', text: rest.trim(), when: word }
  const command = Object.hasOwn(commands, word) ? commands[word] : undefined
  if (command === undefined) return said(unknownText(word, more))
  const text = rest.trim()
  if (text !== '' && command.takes === undefined) return said(`troupe: /${word} takes nothing behind it`)
  if (session === undefined)
    return said('troupe: there is nothing to show yet: the session begins with your first message')
  try {
    return { kind: 'said', lines: await command.lines(session, place, text) }
  } catch (thrown) {
    return said(`troupe: ${safe(toComplaint(thrown).message)}`)
  }
}

function said(line: string): Chatted {
  return { kind: 'said', lines: [line] }
}

function unknownText(word: string, more: TypedWords): string {
  const known = [...words, ...more.map(([typed]) => typed.slice(1).replace(/ .*/, ''))].toSorted((a, b) =>
    a.localeCompare(b),
  )
  const all = known.map((one) => `/${one}`).join(', ')
  return `troupe: there is no command /${safe(word)}; there are ${all}. A message may begin with two slashes.${didYouMean(word, known)}`
}

/** What may be typed in any conversation, and what it does. */
export type TypedWords = readonly (readonly [typed: string, does: string])[]

export const typedWords: TypedWords = [
  ...Object.entries(urgent).map(([word, does]) => [`/${word} <message>`, does] as const),
  ...Object.entries(commands).map(([word, { does, takes }]) => [`/${word} ${takes ?? ''}`, does] as const),
]

const typedWidth = 22

export function helpLines(typed: TypedWords, { columns }: Pick<Page, 'columns'>): string[] {
  return typed.flatMap(([word, does]) =>
    wrapText(does, columns - typedWidth).map((line, index) => `${(index === 0 ? word : '').padEnd(typedWidth)}${line}`),
  )
}

async function contextLines(session: Session, { page }: Place): Promise<readonly string[]> {
  const [context, metadata] = [await session.root.context(), await session.root.metadata()]
  const { history, size, facts } = context
  const names = Object.keys(facts)
  return factLines(
    [
      ['messages', String(history.messages.length)],
      ['size', `about ${tokensText(size.tokens)} tokens`],
      ['facts', names.length === 0 ? null : safe(names.join(', '))],
      ['compacted', metadata['compact.last_run_timestamp']],
    ],
    page,
  )
}
