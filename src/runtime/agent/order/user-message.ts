/** Duty: turn an input message into the user's words in the conversation: text, content blocks, or any JSON as its text. */
import { z } from 'zod'
import { fitTo } from '../../../core/check/schema-problems.ts'
import type { UserBlock } from '../../../core/history/chat/chat-message.ts'
import { userBlockSchema } from '../../../core/history/chat/chat-schema.ts'
import type { EntryParts } from '../../../core/history/entry.ts'
import type { InputMessage } from '../../../core/worker/message/message.ts'

/** A list of content blocks that a model accepts, or `{ content: [...] }` with one. */
const listSchema = z.array(userBlockSchema).min(1)
const contentSchema = z.strictObject({ content: listSchema })

/** Does not throw: a message that breaks one turn would break it on every other node as well. */
export function userMessage(id: string, message: InputMessage, context?: string): EntryParts<'user'> {
  const { from, when, facts } = message
  return {
    id,
    ...(from !== null && { from }),
    ...(when && { when }),
    content: blocksOf(message.value),
    ...(context !== undefined && { context }),
    ...(facts && Object.keys(facts).length > 0 && { facts }),
  }
}

/** A text, content blocks, or any JSON as its text. */
export function blocksOf(value: unknown): readonly UserBlock[] {
  if (typeof value === 'string') return [{ type: 'text', text: value.toWellFormed() }]
  // A value that is nested too deeply overflows the stack of the schema check, and that of JSON.stringify.
  if (Array.isArray(value)) {
    const list = fitTo(listSchema, value)
    if (list.ok) return list.value
  }
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
