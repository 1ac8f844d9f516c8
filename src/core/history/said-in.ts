/** Duty: the conversation that a history holds: its messages, without what only the runtime needs. */
import { readChatMessage } from './chat/chat-codec.ts'
import type { ChatMessage } from './chat/chat-message.ts'
import type { Entry } from './entry.ts'
import { countingEntries } from './undone.ts'

/**
 * The messages that were said, in order. A text with which troupe itself asked a model again is left out, and so are the result of a call that a
 * retry ran again, and a turn that was undone. `entries`: from the beginning of the history.
 */
export function saidIn(entries: Iterable<Entry>): ChatMessage[] {
  const said: ChatMessage[] = []
  const placed = [...entries].map((entry, index) => ({ position: index, entry }))
  for (const { entry } of countingEntries(placed)) {
    if (entry.type === 'retried') takeBack(said, new Set(entry.reopened ?? []))
    const message = readChatMessage(entry)
    if (message === null || (message.type === 'user' && message.nudge)) continue
    said.push(plainMessage(message))
  }
  return said
}

/** A message without what only its history needs. */
export function plainMessage(message: ChatMessage): ChatMessage {
  const {
    v: _v,
    run: _run,
    epoch: _epoch,
    takenOver: _takenOver,
    pushed: _pushed,
    ...plain
  } = message as ChatMessage & Partial<Record<'v' | 'run' | 'epoch' | 'takenOver' | 'pushed', unknown>>
  return plain
}

/** Only calls of the newest reply are run again. */
export function takeBack(said: ChatMessage[], reopened: ReadonlySet<string>): void {
  for (let index = said.length - 1; index >= 0; index--) {
    const message = said[index] as ChatMessage
    if (message.type === 'assistant') return
    if (message.type === 'toolResult' && reopened.has(message.toolCallId)) said.splice(index, 1)
  }
}
