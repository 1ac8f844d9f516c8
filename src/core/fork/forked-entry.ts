/**
 * Duty: an entry of a history, and a mail, as a copy of their session has them: with the ids of the copy where troupe itself wrote ids.
 * FORKED-ENTRY-1 Values of users are not looked into: an id in an input, a result, a text or a state stays the id that it was.
 * FORKED-ENTRY-2 A text that has no id to change, or cannot be read, stays as it is.
 */
import { isObject } from '../check/is-object.ts'
import { signalLetters } from '../worker/message/message.ts'
import type { ForkedIds } from './forked-ids.ts'

type Fields = Record<string, unknown>

/** Version 8: of workers and asks. */
const anyId = /[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/

/** `owner`: the worker of the original whose history it is. */
export function forkedEntry(json: string, owner: string, ids: ForkedIds): string {
  if (!anyId.test(json)) return json
  const entry = parsed(json)
  if (entry === null) return json
  const worker = (id: string) => ids.worker(id)
  const ask = (id: string) => ids.ask(owner, id)
  const changes = [
    isObject(entry.message) && changeMessage(entry.message, owner, ids),
    change(entry, 'from', worker),
    changeItems(entry, 'sent', worker),
    changeItems(entry, 'ended', worker),
    changeEach(entry, 'spawned', worker),
    changeEach(entry, 'asks', ask),
    (entry.type === 'askWithdrawn' || entry.type === 'hooked') && change(entry, 'ask', ask),
    entry.type === 'retried' && change(entry, 'messageId', (id) => ids.message(owner, id)),
    isObject(entry.dropped) && change(entry.dropped, 'mail', (mail) => forkedMail(mail, owner, ids)),
    isObject(entry.onCancel) && changeItems(entry.onCancel, 'sent', worker),
  ]
  return changes.some(Boolean) ? JSON.stringify(entry) : json
}

/** `owner`: the worker of the original whose mailbox it is in. */
export function forkedMail(text: string, owner: string, ids: ForkedIds): string {
  const [sort = '', first = '', ...rest] = text.split('\t')
  const withHead = (...head: readonly string[]) => [sort, ...head].join('\t')
  switch (sort) {
    case 'i':
    case 'g':
    case 'r':
      return withHead(ids.worker(first), ...rest)
    case 'p':
      return withHead(ids.worker(first), ids.permissions(rest[0] ?? ''), ...rest.slice(1))
    case 'b':
      return withHead(ids.message(owner, first), repeatedMessage(rest.join('\t'), owner, ids))
    case signalLetters.answer:
      return withHead(ids.ask(owner, first), ...rest)
    default:
      return text
  }
}

function repeatedMessage(json: string, owner: string, ids: ForkedIds): string {
  const message = parsed(json)
  return message !== null && changeMessage(message, owner, ids) ? JSON.stringify(message) : json
}

function changeMessage(message: Fields, owner: string, ids: ForkedIds): boolean {
  const isFrom = change(message, 'from', (id) => ids.worker(id))
  return change(message, 'id', (id) => ids.message(owner, id)) || isFrom
}

function parsed(json: string): Fields | null {
  try {
    const value: unknown = JSON.parse(json)
    return isObject(value) ? value : null
  } catch {
    return null
  }
}

function change(fields: Fields, name: string, by: (text: string) => string): boolean {
  const text = fields[name]
  if (typeof text !== 'string') return false
  fields[name] = by(text)
  return fields[name] !== text
}

function changeItems(fields: Fields, name: string, by: (text: string) => string): boolean {
  const list = fields[name]
  if (!Array.isArray(list)) return false
  fields[name] = list.map((item: unknown) => (typeof item === 'string' ? by(item) : item))
  return true
}

function changeEach(fields: Fields, name: string, by: (text: string) => string): boolean {
  const list = fields[name]
  if (!Array.isArray(list)) return false
  for (const item of list) if (isObject(item)) change(item, 'id', by)
  return true
}
