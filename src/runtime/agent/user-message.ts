/** Duty: an input message as what a user says in the conversation: text, blocks, or any JSON as its text. */
import { z } from 'zod'
import { type UserBlock, userBlockSchema } from '../../core/chat-message.ts'
import type { InputMessage } from '../../core/message.ts'
import type { EntryFacts } from './journal.ts'

/** `{ content: [...] }` with blocks that a model takes. */
const contentSchema = z.strictObject({ content: z.array(userBlockSchema).min(1) })

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
  const parsed = contentSchema.safeParse(value)
  if (parsed.success) return parsed.data.content
  return [{ type: 'text', text: JSON.stringify(value) }]
}
