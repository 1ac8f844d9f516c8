/** Duty: an entry that is no message, as a note between the messages. Its words are those of the command line. */

import { type AgentResult, isAgentResult } from '../../../../core/history/agent-result.ts'
import type { Entry } from '../../../../core/history/entry.ts'
import { entryWords } from '../../../../words/lines/entry-line.ts'

type Tone = 'plain' | 'good' | 'warn' | 'bad'

export interface Note {
  readonly tone: Tone
  readonly text: string
  /** What a reader may want to see in full: a summary, a value. */
  readonly detail: unknown
  /** True if it stands for what came before it, as a summary does. */
  readonly isDivider: boolean
}

const tones: Partial<Record<Entry['type'], Tone>> = {
  completed: 'good',
  failed: 'bad',
  cancelled: 'bad',
  error: 'bad',
  attemptFailed: 'warn',
  blank: 'warn',
  orderRefused: 'warn',
}

/** `said`: the text of the reply before it, which the result of an agent only repeats. */
export function noteOf(entry: Entry, said?: string): Note {
  if (entry.type === 'completed' && isAgentResult(entry.value)) return resultNote(entry.value, said)
  const ofChild = entry.type === 'received' ? childNote(entry) : null
  if (ofChild !== null) return ofChild
  const detail = detailOf(entry)
  const isDivider = entry.type === 'compacted' || entry.type === 'cleared'
  return { tone: tones[entry.type] ?? 'plain', text: textOf(entry, detail), detail, isDivider }
}

/** What an agent said, as a text and not as JSON, with what else its result has. */
function saidIn({ text, ...more }: AgentResult, isRepeated = false): Pick<Note, 'text' | 'detail'> {
  const rest = Object.keys(more).length === 0 ? undefined : more
  const parts = [isRepeated ? '' : text, rest === undefined ? '' : JSON.stringify(rest)].filter((part) => part !== '')
  return { text: parts.join(': '), detail: isRepeated ? rest : rest === undefined ? text : { text, ...more } }
}

function resultNote(result: AgentResult, said: string | undefined): Note {
  const { text, detail } = saidIn(result, result.text === said)
  return { tone: 'good', text: cut(text === '' ? 'completed' : `completed: ${text}`), detail, isDivider: false }
}

/** A parent has received the result of an agent; null for any other message. */
function childNote(entry: Extract<Entry, { type: 'received' }>): Note | null {
  const { message } = entry
  if (message.kind !== 'result' || message.failure !== null || !isAgentResult(message.value)) return null
  const { text, detail } = saidIn(message.value)
  const words = entryWords({ ...entry, message: { ...message, value: text } })
  return { tone: 'plain', text: cut(words), detail, isDivider: false }
}

const charsMost = 300

function cut(words: string): string {
  return words.length > charsMost ? `${words.slice(0, charsMost)}…` : words
}

/** The words of the line, cut if the detail has all of them. */
function textOf(entry: Entry, detail: unknown): string {
  const words = entry.type === 'compacted' ? compactedWords(entry) : entryWords(entry)
  return detail === undefined ? words : cut(words)
}

function compactedWords({ messages, tokensBefore, tokensAfter, model }: Extract<Entry, { type: 'compacted' }>): string {
  const of = messages === undefined ? '' : ` for ${messages} messages`
  const size = tokensBefore === undefined ? '' : `, ${tokensBefore} to ${tokensAfter ?? '?'} tokens`
  return `compacted: from here on prompts hold a summary${of} (${model}${size})`
}

function detailOf(entry: Entry): unknown {
  switch (entry.type) {
    case 'compacted':
      return entry.text
    case 'completed':
    case 'step':
      return typeof entry.value === 'object' && entry.value !== null ? entry.value : undefined
    case 'received':
      return entry.message
    case 'failed':
    case 'attemptFailed':
      return entry.failure.message.length > charsMost ? entry.failure : undefined
    case 'system':
    case 'summary':
      return entry.text
    case 'hooked':
      return entry.content
    default:
      return undefined
  }
}
