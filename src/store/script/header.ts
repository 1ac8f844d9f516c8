/**
 * Duty: the header of a script's arguments: one JSON object with named fields of ours. It is the only JSON that a script decodes: texts of users
 * follow it as arguments of their own, which no script looks into.
 */

export type HeaderValue =
  | string
  | number
  | boolean
  | readonly HeaderValue[]
  | { readonly [name: string]: HeaderValue | undefined }

/** A field that is undefined is left out. */
export function encodeHeader(fields: readonly (readonly [name: string, value: HeaderValue | undefined])[]): string {
  const header = Object.fromEntries(fields)
  const text = JSON.stringify(header)
  // Half of a character pair: Lua's decoder refuses it. Any other argument is sent with U+FFFD in its place, too.
  return text.includes('\\ud') ? JSON.stringify(header, wellFormed) : text
}

function wellFormed(_name: string, value: unknown): unknown {
  return typeof value === 'string' ? value.toWellFormed() : value
}
