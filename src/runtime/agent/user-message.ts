/** Duty: an input message as what a user says in the conversation: text, blocks, or any JSON as its text. */
import { z } from 'zod'
import { fitTo } from '../../core/check/schema-problems.ts'
import { type UserBlock, userBlockSchema } from '../../core/history/chat-message.ts'
import type { InputMessage } from '../../core/worker/message.ts'
import type { EntryFacts } from './journal.ts'

/** `{ content: [...] }` with blocks that a model takes. */
const contentSchema = z.strictObject({ content: z.array(userBlockSchema).min(1) })

/** Does not throw: a message that breaks its turn would be met again by every node. */
export function userEntry(id: string, message: InputMessage): EntryFacts {
  const { from, facts } = message
  return {
    type: 'user',
    id,
    ...(from !== null && { from }),
    content: blocksOf(message.value),
    ...(facts && Object.keys(facts).length > 0 && { facts }),
  }
}

function blocksOf(value: unknown): readonly UserBlock[] {
  if (typeof value === 'string') return [{ type: 'text', text: value.toWellFormed() }]
  // What is nested deeply is more than the stack of a schema holds, and of what writes it.
  const fit = fitTo(contentSchema, value)
  return fit.ok ? fit.value.content : [{ type: 'text', text: jsonText(value) }]
}

function jsonText(value: unknown): string {
  try {
    return JSON.stringify(value)
  } catch {
    return '(a message that is nested too deeply to be written as text)'
  }
}
