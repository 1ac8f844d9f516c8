/**
 * What a provider was asked, outside of Redis: one line for each request, synced before it is answered, and the rules that hold for
 * all of them.
 */
import { readFileSync } from 'node:fs'
import { requestFaults } from '../../models/support/request-rules.ts'

export interface WireCall {
  readonly id: string
  readonly function: { readonly name: string; readonly arguments: string }
}

/** A message of the OpenAI chat protocol. */
export interface WireMessage {
  readonly role: 'system' | 'developer' | 'user' | 'assistant' | 'tool'
  readonly content?: string | null | readonly { readonly type: string; readonly text?: string }[]
  readonly tool_calls?: readonly WireCall[]
  readonly tool_call_id?: string
}

export interface JournalLine {
  readonly seq: number
  readonly at: number
  readonly pid: number
  readonly kind: string
  readonly worker: string
  /** The number of the reply that is asked for: how many replies the conversation has. */
  readonly step: number
  readonly messages: readonly WireMessage[]
  /** Headers whose name speaks of idempotency. */
  readonly keys: Readonly<Record<string, unknown>>
  /** The answer says that the provider is too busy. */
  readonly isRefused?: boolean
}

export function readJournal(file: string): JournalLine[] {
  const whole = readFileSync(file, 'utf8').split('\n').slice(0, -1)
  return whole.map((line) => JSON.parse(line) as JournalLine)
}

export function wireText({ content }: WireMessage): string {
  if (typeof content === 'string') return content
  return (content ?? []).map(({ text }) => text ?? '').join('\n')
}

/** What is wrong with a conversation by the rules of the API: who speaks when, and each call answered once, at once. */
export function wireFaults({ messages, seq, worker }: JournalLine): string[] {
  const faults: string[] = []
  const say = (what: string) => faults.push(`request ${seq} of ${worker}: ${what}`)
  const spoken = messages.filter(({ role }) => role !== 'system' && role !== 'developer')
  if (messages.slice(1).some(({ role }) => role === 'system' || role === 'developer')) say('a system message inside')
  if (spoken[0]?.role !== 'user') say('it does not begin with a user')
  if (spoken.at(-1)?.role === 'assistant') say('it ends with the assistant')
  let open: string[] = []
  let before = ''
  for (const message of spoken) {
    if (message.role === 'tool') {
      const at = open.indexOf(message.tool_call_id ?? '')
      if (at < 0) say(`a result of ${message.tool_call_id}, which is not open`)
      else open.splice(at, 1)
    } else {
      if (open.length > 0) say(`no results of ${open.join(', ')}`)
      if (message.role === before) say(`two messages of ${before} in a row`)
      open = (message.tool_calls ?? []).map(({ id }) => id)
      if (new Set(open).size !== open.length) say('an id of a call twice')
    }
    before = message.role
  }
  if (open.length > 0) say(`no results of ${open.join(', ')} at the end`)
  for (const fault of requestFaults('openaiChat', { messages })) say(fault)
  return faults
}
