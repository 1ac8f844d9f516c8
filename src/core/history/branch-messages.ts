/**
 * Duty: the messages with which a branch of a conversation begins: those of the first one, as its prompts have them. Only summaries, and notes in
 * place of results that were cleared, stand for nothing here.
 * BRANCH-MESSAGES-1 A result that a retry took back is left out. An input that code of the kind changed is as it was changed. A note stands for
 *                   what the model, or the worker, refused.
 * BRANCH-MESSAGES-2 Facts stay with the first conversation.
 */
import type { ErrorCode } from '../errors.ts'
import { readChatMessage } from './chat/chat-codec.ts'
import type { ChatMessage } from './chat/chat-message.ts'
import type { ChatEntry, Entry, FailedEntry, HookedEntry } from './entry.ts'
import { leftOutNote } from './prompt/left-out.ts'
import { refusals } from './run/failed-run.ts'
import { plainMessage, takeBack } from './said-in.ts'

/** What prompts leave out from the next input on. */
interface Refused {
  readonly run: number
  readonly code: ErrorCode
  readonly hasReplied: boolean
  readonly isSteered: boolean
}

/** `entries`: those that count (undone.ts), from the beginning of the history. */
export function branchMessages(entries: Iterable<Entry>): ChatMessage[] {
  const said: ChatEntry[] = []
  let refused: Refused | null = null
  for (const entry of entries) {
    if (entry.type === 'failed') refused = refusedBy(entry, said) ?? refused
    else if (entry.type === 'hooked') changeInput(said, entry)
    else if (entry.type === 'retried') {
      refused = null
      takeBack(said, new Set(entry.reopened ?? []))
    } else {
      const message = readChatMessage(entry) as ChatEntry | null
      if (message === null) continue
      if (refused !== null && message.type === 'user' && !message.nudge) {
        leaveOut(said, refused)
        refused = null
      }
      if (message.type === 'assistant' && !message.pushed) refused = null
      said.push(message)
    }
  }
  if (refused !== null) leaveOut(said, refused)
  return said.map(withoutFacts)
}

function withoutFacts(entry: ChatEntry): ChatMessage {
  const { facts: _, ...message } = plainMessage(entry) as ChatMessage & { readonly facts?: unknown }
  return message
}

function refusedBy({ run, failure, leftOut }: FailedEntry, said: readonly ChatEntry[]): Refused | null {
  const hasReplied = said.some((one) => one.type === 'assistant' && !one.pushed && one.run === run)
  if (!leftOut && (hasReplied || !refusals.has(failure.code))) return null
  const isSteered = said.slice(lastReply(said) + 1).some((one) => one.type === 'user' && one.when !== undefined)
  // A run that an order began has no input of its own.
  const input = said.findLast((one) => one.type === 'user' && !one.nudge)
  return { run: input?.run ?? run, code: failure.code, hasReplied, isSteered }
}

function changeInput(said: ChatEntry[], { run, content }: HookedEntry): void {
  const at = said.findIndex((one) => one.run === run && one.type === 'user' && !one.nudge && !one.pushed)
  const input = said[at]
  if (content !== undefined && input?.type === 'user') said[at] = { ...input, content }
}

/** Only what stands behind the newest reply is left out. */
function leaveOut(said: ChatEntry[], { run, code, hasReplied, isSteered }: Refused): void {
  const since = said.splice(lastReply(said) + 1)
  const output = { type: 'error-text', value: leftOutNote('results', code) } as const
  let hasNote = false
  for (const one of since) {
    const isRefused = hasReplied ? isSteered : one.run >= run
    if (hasReplied && one.type === 'toolResult') said.push({ ...one, output })
    else if (one.type !== 'user' || !isRefused) said.push(one)
    else if (!hasNote) {
      const { context: _context, from: _from, ...rest } = one
      said.push({ ...rest, content: [{ type: 'text', text: leftOutNote('input', code) }] })
      hasNote = true
    }
  }
}

function lastReply(said: readonly ChatEntry[]): number {
  return said.findLastIndex(({ type }) => type === 'assistant')
}
