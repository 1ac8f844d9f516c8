/**
 * Duty: read JSON text without changing its numbers.
 * EXACT-1 A number that JavaScript cannot hold exactly (an integer beyond 2^53, or one beyond all limits) is read as the text of its digits. A
 *         wrong number would look right; a text is seen by any schema, and holds every digit.
 */
import type { Json } from './history/chat/chat-message.ts'

/** Only such a text may hold a number that would be changed. */
const suspicious = /\d{16}|[eE]\+?\d{2}/

interface ReviverContext {
  readonly source?: string
}

/** Throws what `JSON.parse` throws. `parsed`: what that made of the text, where the caller has it already. */
export function parseExactJson(text: string, parsed?: Json): Json {
  if (!suspicious.test(text)) return parsed ?? (JSON.parse(text) as Json)
  const parse = JSON.parse as (
    text: string,
    reviver: (key: string, value: unknown, context: ReviverContext) => unknown,
  ) => Json
  return parse(text, (_key, value, { source }) => {
    if (typeof value !== 'number' || source === undefined) return value
    const isChanged =
      !Number.isFinite(value) || (Number.isInteger(value) && !Number.isSafeInteger(value) && /^-?\d+$/.test(source))
    return isChanged ? source : value
  })
}
