/** Duty: entries of the second design: one side each (alternating), or both sides (paired). */
import { isObject } from '../../core/check/is-object.ts'
import type { Json } from '../../core/history/chat/chat-message.ts'
import type { Format, Losses } from '../format.ts'
import { looked, messagesIn } from '../parts/role-list.ts'
import { summaryTurn } from '../parts/turns.ts'
import type { Source } from '../source.ts'
import { type QHistory, qHistory, qLosses, readQEntry } from './q-message.ts'

const losses: Losses = qLosses

export const alternatingEntries: Format = {
  name: 'alternating',
  title: 'alternating entries',
  form: 'a JSON object `{entries}`: a list of `{user, assistant}`, one of which is null',
  losses,
  fits: (source) =>
    areEntries(source, 'entries') &&
    looked(source, 'entries').every(({ user, assistant }) => user == null || assistant == null),
  read(source, said) {
    for (const entry of messagesIn(source, 'entries')) readQEntry(entry, said)
  },
  write(messages, written) {
    const { pairs, next } = qHistory(summaryTurn(messages), written)
    const entries: Json[] = pairs.flatMap(({ user, assistant }) => [
      { user, assistant: null },
      { user: null, assistant },
    ])
    return { json: { entries: next === null ? entries : [...entries, { user: next, assistant: null }] } }
  },
}

export const pairedEntries: Format = {
  name: 'paired',
  title: 'paired entries',
  form: 'a JSON list of `{user, assistant, request_metadata}`; a message that nobody answered has an empty answer',
  losses,
  fits: (source) => areEntries(source, 'history') && !('conversation_id' in Object(source.whole?.value)),
  read(source, said) {
    for (const entry of messagesIn(source, 'history')) readQEntry(entry, said)
  },
  write(messages, written) {
    const { pairs, next }: QHistory = qHistory(summaryTurn(messages), written)
    const unanswered = next === null ? [] : [{ user: next, assistant: { Response: { message_id: null, content: '' } } }]
    return { json: [...pairs, ...unanswered].map((pair) => ({ ...pair, request_metadata: null })) }
  },
}

function areEntries(source: Source, name: string): boolean {
  const items = looked(source, name)
  const isSide = (side: unknown) => side == null || isObject(side)
  return (
    items.length > 0 &&
    items.every(
      (item) =>
        ('user' in item || 'assistant' in item) && !('role' in item) && isSide(item.user) && isSide(item.assistant),
    )
  )
}
