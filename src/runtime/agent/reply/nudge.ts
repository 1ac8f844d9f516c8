/**
 * Duty: the texts with which troupe itself asks a model again, in the conversation.
 * NUDGE-1 A nudge is recorded as one. It is no input, and nobody wrote it.
 */
import type { Entry } from '../../../core/history/entry.ts'
import type { Journal } from '../journal.ts'

/** `text`: what troupe itself tells the model. It comes right after one other entry of the step. */
export function nudgeEntry(journal: Journal, text: string, about?: 'output'): Entry {
  const why = about === undefined ? {} : { about }
  return journal.entry('user', { id: journal.nextId(1), nudge: true, ...why, content: [{ type: 'text', text }] })
}
