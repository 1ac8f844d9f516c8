/** Duty: read the text that a hook returned, within its limit, and the entry with which the model gets it. */
import { preview } from '../../../core/check/preview.ts'
import type { Entry } from '../../../core/history/entry.ts'
import { policy } from '../../../core/policy.ts'
import { redactSentence } from '../../../core/secret/redact.ts'
import { cutText } from '../../tool/output.ts'
import type { Journal } from '../journal.ts'

/** Null if there is no text. `what`: the hook, for the log. */
export function hookText({ log }: Journal, what: string, value: unknown): string | null {
  if (value === null || value === undefined) return null
  if (typeof value !== 'string') {
    log.error(`${what} returned ${preview(value)}, which is no text; nothing is added`)
    return null
  }
  if (value.trim() === '') return null
  const { hookTextBytesMax } = policy
  const bytes = Buffer.byteLength(value)
  if (bytes > hookTextBytesMax)
    log.warn(`${what} returned a text of ${bytes} bytes; only the first ${hookTextBytesMax} are kept`)
  return redactSentence(cutText(value, hookTextBytesMax))
}

/** A text that code of the kind gives to the model. It is no input. `ahead`: how many entries come before it in the same step. */
export function textEntry(journal: Journal, text: string, ahead: number): Entry {
  return journal.entry('user', { id: journal.nextId(ahead), nudge: true, content: [{ type: 'text', text }] })
}
