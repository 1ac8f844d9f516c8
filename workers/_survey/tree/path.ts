/**
 * Duty: handle names and paths of files as bytes: a name may hold newlines, and bytes that are not UTF-8.
 * A `BytePath` holds one character (U+0000 to U+00FF) for each byte, so that it can be joined, compared (`<` is the order of
 * bytes) and used as a key without losing anything. A `PathText` is its form in messages, a shown path its form for people.
 * PATH-1 decodePath(encodePath(path)) is path, for any bytes.
 * PATH-2 A shown path is one line of visible characters, and two different paths are never shown alike.
 */
import { isUtf8 } from 'node:buffer'
import { z } from 'zod'

declare const isBytePath: unique symbol

/** Relative to the surveyed folder, with "/" between names; '' is that folder itself. */
export type BytePath = string & { readonly [isBytePath]: true }

export const pathTextSchema = z.union([z.string(), z.object({ base64: z.base64() })])

/** A readable string if the bytes are UTF-8 without control characters; otherwise base64. */
export type PathText = z.infer<typeof pathTextSchema>

/** Longer paths are cut in lists for people, because lists travel in messages of limited size. */
export const previewBytesMax = 512

export const topPath = '' as BytePath

export function fromBytes(bytes: Buffer): BytePath {
  return bytes.toString('latin1') as BytePath
}

export function fromText(text: string): BytePath {
  return fromBytes(Buffer.from(text, 'utf8'))
}

export function toBytes(path: string): Buffer {
  return Buffer.from(path, 'latin1')
}

export function joinPath(folder: BytePath, name: BytePath): BytePath {
  return (folder === '' ? name : `${folder}/${name}`) as BytePath
}

export function namesOf(path: BytePath): BytePath[] {
  return path === '' ? [] : (path.split('/') as BytePath[])
}

export function encodePath(path: BytePath): PathText {
  const bytes = toBytes(path)
  if (isUtf8(bytes) && !hasControl(path)) return bytes.toString('utf8')
  return { base64: bytes.toString('base64') }
}

export function decodePath(text: PathText): BytePath {
  return typeof text === 'string' ? fromText(text) : fromBytes(Buffer.from(text.base64, 'base64'))
}

/** A path for a list. A long path is cut to its beginning and its end. */
export function cutPath(path: BytePath): BytePath {
  if (path.length <= previewBytesMax) return path
  return `${path.slice(0, 160)}${fromText('…')}${path.slice(-(previewBytesMax - 163))}` as BytePath
}

/** Compares by bytes. The order is total, so that lists cut to their first items are the same in any order of merging. */
export function comparePaths(a: BytePath, b: BytePath): number {
  if (a === b) return 0
  return a < b ? -1 : 1
}

/** A path for people. Shows `\n`, `\t`, `\\`, invalid bytes as `\xHH`, and invisible characters as `\u{…}`. */
export function showPath(path: BytePath): string {
  if (/^[\x20-\x5b\x5d-\x7e]*$/.test(path)) return path
  const bytes = toBytes(path)
  let preview = ''
  for (let at = 0; at < bytes.length; ) {
    const length = sequenceLength(bytes, at)
    preview += length === 0 ? hexByte(bytes[at] ?? 0) : showCharacter(bytes.toString('utf8', at, at + length))
    at += Math.max(1, length)
  }
  return preview
}

/** The length in bytes of the UTF-8 character that begins here. 0 if none begins here. */
function sequenceLength(bytes: Buffer, at: number): number {
  const first = bytes[at] ?? 0
  const length = first < 0x80 ? 1 : first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
  return at + length <= bytes.length && isUtf8(bytes.subarray(at, at + length)) ? length : 0
}

function showCharacter(character: string): string {
  if (character === '\\') return '\\\\'
  if (character === '\n') return '\\n'
  if (character === '\t') return '\\t'
  if (character === '\r') return '\\r'
  // Controls, formats (zero width, direction), surrogates, private use, unassigned, and spaces that are not U+0020.
  if (character !== ' ' && /^[\p{C}\p{Z}]$/u.test(character)) {
    const code = character.codePointAt(0) ?? 0
    return code < 0x80 ? hexByte(code) : `\\u{${code.toString(16)}}`
  }
  return character
}

function hexByte(byte: number): string {
  return `\\x${byte.toString(16).padStart(2, '0')}`
}

function hasControl(path: string): boolean {
  for (let at = 0; at < path.length; at++) {
    const byte = path.charCodeAt(at)
    if (byte < 0x20 || byte === 0x7f) return true
  }
  return false
}
