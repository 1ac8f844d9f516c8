/** Duty: say whether an entry that was read has the fields that readers rely on. Another program may have written over any part of it. */
import { isObject } from '../check/is-object.ts'

type Fields = Readonly<Record<string, unknown>>

/** Checks the fields that readers rely on. Messages of a conversation are checked when they are read (core/history/chat/chat-codec.ts). */
export function hasItsParts(entry: Fields): boolean {
  switch (entry.type) {
    case 'received':
      return isObject(entry.message) && typeof entry.message.kind === 'string'
    case 'step':
      return typeof entry.name === 'string'
    case 'compacted':
      return [entry.text, entry.firstKept, entry.owed ?? ''].every((text) => typeof text === 'string')
    case 'cleared':
      return typeof entry.firstKept === 'string'
    case 'ordered':
      return typeof entry.message === 'string' && isObject(entry.order)
    case 'orderRefused':
    case 'configured':
      return typeof entry.message === 'string'
    case 'undone':
      return Number.isSafeInteger(entry.from) && (entry.all === undefined || typeof entry.all === 'boolean')
    case 'failed':
      return isObject(entry.failure) && typeof entry.failure.code === 'string'
    case 'attemptFailed':
      return entry.toolCallIds === undefined || Array.isArray(entry.toolCallIds)
    case 'cancelled': {
      const { dropped, onCancel } = entry
      const isWhole =
        dropped === undefined ||
        (isObject(dropped) && typeof dropped.id === 'string' && typeof dropped.mail === 'string')
      return isWhole && (onCancel === undefined || isObject(onCancel))
    }
    case 'toolStarted':
      return typeof entry.toolCallId === 'string'
    case 'delegated':
      return typeof entry.toolCallId === 'string' && isListOfObjects(entry.spawned)
    case 'asked':
      return typeof entry.toolCallId === 'string' && isListOfObjects(entry.asks)
    case 'subCallStarted':
      return typeof entry.toolCallId === 'string' && typeof entry.id === 'string'
    case 'subCall':
      return typeof entry.toolCallId === 'string' && typeof entry.id === 'string' && isObject(entry.output)
    case 'hooked':
      // Content of a single text is stored as that text.
      return (
        typeof entry.hook === 'string' && (typeof (entry.content ?? '') === 'string' || isListOfObjects(entry.content))
      )
    case 'callsDecided':
      return isListOfObjects(entry.calls)
    case 'blank':
      return isObject(entry.usage)
    case 'retried':
      return entry.reopened === undefined || Array.isArray(entry.reopened)
    default:
      return true
  }
}

function isListOfObjects(list: unknown): boolean {
  return Array.isArray(list) && list.every(isObject)
}
