/**
 * Duty: what a person may type in a conversation at the terminal beside messages: `/status` and its like.
 * TYPED-COMMANDS-1 Only a whole word behind a slash is a command: `/etc/hosts` is a message, and so is what begins with two slashes, without the first.
 * TYPED-COMMANDS-2 A command is no message: no model reads it.
 */
import type { Session } from '../../client/session/session.ts'
import { didYouMean } from '../../core/check/closest.ts'
import { toComplaint } from '../exit-code.ts'
import { safe } from '../terminal/output.ts'
import { tokensText } from '../view/amounts.ts'
import { factLines } from '../view/answer.ts'
import type { Page } from '../view/page.ts'
import { tableLines } from '../view/table.ts'
import { usageText, workerColumns } from '../view/worker-columns.ts'
import { sessionFacts } from './session/show.ts'
import { compactedText } from './worker/compact.ts'

interface ChatCommand {
  readonly does: string
  /** What may be typed behind the word; absent: nothing. */
  readonly takes?: string
  /** Lines for the person. */
  readonly lines: (session: Session, place: Place, text: string) => Promise<readonly string[]>
}

interface Place {
  readonly page: Page
  readonly signal: AbortSignal
}

const commands: Readonly<Record<string, ChatCommand>> = {
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

const quitWords: readonly string[] = ['quit', 'q']
const words = [...Object.keys(commands), 'help', 'quit'].toSorted((a, b) => a.localeCompare(b))

/** What a typed line means. `said`: lines for the person. */
export type Chatted =
  | { readonly kind: 'message'; readonly text: string }
  | { readonly kind: 'quit' }
  | { readonly kind: 'said'; readonly lines: readonly string[] }

/** `session`: undefined before the first message. */
export async function chatted(typed: string, session: Session | undefined, place: Place): Promise<Chatted> {
  const [, word, rest = ''] = /^\s*\/([A-Za-z-]+)(?:\s+([\s\S]*))?$/.exec(typed) ?? []
  if (word === undefined) return { kind: 'message', text: typed.replace(/^(\s*)\/\//, '$1/') }
  if (quitWords.includes(word)) return { kind: 'quit' }
  if (word === 'help') return { kind: 'said', lines: helpLines() }
  const command = Object.hasOwn(commands, word) ? commands[word] : undefined
  if (command === undefined) return { kind: 'said', lines: [unknownText(word)] }
  const text = rest.trim()
  if (text !== '' && command.takes === undefined)
    return { kind: 'said', lines: [`troupe: /${word} takes nothing behind it`] }
  if (session === undefined)
    return { kind: 'said', lines: ['troupe: there is nothing to show yet: the session begins with your first message'] }
  try {
    return { kind: 'said', lines: await command.lines(session, place, text) }
  } catch (thrown) {
    return { kind: 'said', lines: [`troupe: ${safe(toComplaint(thrown).message)}`] }
  }
}

function unknownText(word: string): string {
  const all = words.map((one) => `/${one}`).join(', ')
  return `troupe: there is no command /${safe(word)}; there are ${all}. A message may begin with two slashes.${didYouMean(word, words)}`
}

function helpLines(): string[] {
  const lines = Object.entries(commands).map(([word, { does, takes }]) => [`/${word} ${takes ?? ''}`, does] as const)
  const all = [...lines, ['/quit', 'closes the conversation, like Ctrl+D'] as const]
  return all.map(([word, does]) => `${word.padEnd(17)}${does}`)
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
