/** Duty: a message or a value as a piece of a line. Long values are cut: a history may hold a mebibyte in one entry. */
import type { Message } from '../../core/worker/message.ts'
import { failureSentence } from './failure-text.ts'

const valueCharsMax = 2_000

export function messageLine(message: Message): string {
  switch (message.kind) {
    case 'input':
      return `input${message.from === null ? '' : ` from ${message.from}`}: ${valueLine(message.value)}`
    case 'result': {
      const outcome = message.failure === null ? valueLine(message.value) : failureSentence(message.failure)
      return `result of ${message.name} (${message.status}): ${outcome}`
    }
    case 'timer':
      return `timer: ${valueLine(message.value)}`
  }
}

export function valueLine(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? 'nothing')
  return text.length <= valueCharsMax ? text : `${text.slice(0, valueCharsMax)}…`
}
