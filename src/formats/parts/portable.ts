/**
 * Duty: ids and names in the form that an interface accepts.
 * PORTABLE-1 An id that is accepted stays as it is. Equal ids become equal ids, and different ids stay different.
 */
import { createHash } from 'node:crypto'

const hashChars = 12

/** `form`: what is accepted; `most`: how many characters. */
function portable(text: string, form: RegExp, most: number): string {
  if (form.test(text) && text.length <= most) return text
  const hash = createHash('sha256').update(text).digest('hex').slice(0, hashChars)
  const readable = text.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, most - hashChars - 2)
  return `${/^[A-Za-z_]/.test(readable) ? readable : `_${readable.slice(1)}`}_${hash}`
}

/** The form is the same for all models. */
export function callIdFor(id: string, most = 40): string {
  return portable(id, /^[A-Za-z0-9_-]+$/, most)
}

export function toolNameFor(name: string): string {
  return portable(name === '' ? 'unknown_tool' : name, /^[A-Za-z_][A-Za-z0-9_-]*$/, 64)
}

/** A UUID that follows from this text; a text that is a UUID stays. */
export function uuidFor(text: string): string {
  if (/^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(text)) return text
  const hex = createHash('sha256').update(text).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-9${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}
