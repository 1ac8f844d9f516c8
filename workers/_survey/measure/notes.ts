/**
 * Duty: find TODO and FIXME notes in a file that is read piece by piece.
 * A note is a line that holds one of these words, in capitals and as a whole word, as `grep -wE 'TODO|FIXME'` finds it (words consist of ASCII
 * letters, digits and "_"). Its text begins at the word.
 * NOTES-1 The result does not depend on where the pieces end.
 */
import { z } from 'zod'
import { countNewlines } from './newlines.ts'

export const noteCharsMax = 120
/** How many notes are kept of one file, and of all files. Further notes are only counted. */
export const notesMax = 50

const wordSchema = z.enum(['TODO', 'FIXME'])
type NoteWord = z.infer<typeof wordSchema>

export const noteSchema = z.object({ line: z.int().min(1), word: wordSchema, text: z.string() })
export type Note = z.infer<typeof noteSchema>

export interface Notes {
  readonly todo: number
  readonly fixme: number
  /** The first notes. */
  readonly kept: readonly Note[]
}

const newline = 0x0a
/** Enough bytes for the text of a note in UTF-8. */
const textBytesMax = noteCharsMax * 4
/** How many bytes at the end of a piece are kept: a word may begin in them and end in the next piece. Includes the byte before the word. */
const overlapBytes = 'FIXME'.length

export class NoteScanner {
  #todo = 0
  #fixme = 0
  readonly #kept: Note[] = []
  /** The end of earlier pieces that is not searched yet. */
  #tail: Buffer = Buffer.alloc(0)
  /** Number of the line on which the tail begins. */
  #line = 1
  /** Index of the first byte of the tail at which a word may begin. The byte before it is kept too, if there is one. */
  #firstStart = 0
  /** True if a note was already found on the line on which the tail begins. */
  #isLineDone = false

  /** Searches a piece. The caller may overwrite it afterwards. */
  push(piece: Buffer): void {
    this.#scan(this.#tail.length === 0 ? piece : Buffer.concat([this.#tail, piece]), false)
  }

  finish(): Notes {
    this.#scan(this.#tail, true)
    return { todo: this.#todo, fixme: this.#fixme, kept: this.#kept }
  }

  #scan(bytes: Buffer, isLast: boolean): void {
    let from = this.#firstStart
    if (this.#isLineDone) {
      const end = bytes.indexOf(newline)
      this.#isLineDone = end < 0
      from = end < 0 ? bytes.length : end
    }
    const todo = new WordSearch('TODO', bytes)
    const fixme = new WordSearch('FIXME', bytes)
    // `#line` is the line of the byte at `counted`.
    let counted = 0
    let keepFrom = Math.max(from - 1, bytes.length - overlapBytes, 0)
    for (;;) {
      const start = Math.min(todo.next(from), fixme.next(from))
      if (start === Number.POSITIVE_INFINITY) break
      const end = bytes.indexOf(newline, start)
      const isTextWhole = end >= 0 || bytes.length - start > textBytesMax
      if (!isTextWhole && !isLast) {
        keepFrom = Math.max(start - 1, 0)
        break
      }
      this.#line += countNewlines(bytes, counted, start)
      counted = start
      from = end < 0 ? bytes.length : end
      keepFrom = Math.max(from - 1, bytes.length - overlapBytes, 0)
      this.#add(start === todo.next(start) ? 'TODO' : 'FIXME', bytes.subarray(start, from))
      this.#isLineDone = end < 0
      if (end < 0) break
    }
    this.#line += countNewlines(bytes, counted, keepFrom)
    // Copied, because the piece will be overwritten.
    this.#tail = Buffer.from(bytes.subarray(keepFrom))
    if (keepFrom > 0) this.#firstStart = 1
  }

  #add(word: NoteWord, bytes: Buffer): void {
    if (word === 'TODO') this.#todo++
    else this.#fixme++
    if (this.#kept.length >= notesMax) return
    this.#kept.push({ line: this.#line, word, text: textOf(bytes) })
  }
}

/** Finds each occurrence of a word, without searching the same bytes twice. */
class WordSearch {
  readonly #word: string
  readonly #bytes: Buffer
  #found = -1

  constructor(word: NoteWord, bytes: Buffer) {
    this.#word = word
    this.#bytes = bytes
  }

  /** Index of the first occurrence at or after `from`. Infinity if there is none. `from` must not decrease. */
  next(from: number): number {
    if (this.#found >= from) return this.#found
    let at = this.#bytes.indexOf(this.#word, from, 'latin1')
    while (at >= 0 && (isWordByte(this.#bytes[at - 1]) || isWordByte(this.#bytes[at + this.#word.length]))) {
      at = this.#bytes.indexOf(this.#word, at + 1, 'latin1')
    }
    this.#found = at < 0 ? Number.POSITIVE_INFINITY : at
    return this.#found
  }
}

function isWordByte(byte: number | undefined): boolean {
  if (byte === undefined) return false
  return (
    (byte >= 0x30 && byte <= 0x39) || (byte >= 0x41 && byte <= 0x5a) || byte === 0x5f || (byte >= 0x61 && byte <= 0x7a)
  )
}

/** One line of visible characters, without the mark that closes a comment. */
function textOf(bytes: Buffer): string {
  const text = bytes.toString('utf8', 0, Math.min(bytes.length, textBytesMax)).replace(/[\p{C}\p{Z}]+/gu, ' ')
  const characters = Array.from(text.replace(/\s*(\*\/|-->|\*\)|#}|--}}|%>)\s*$/, '').trim())
  return characters.length <= noteCharsMax ? characters.join('') : `${characters.slice(0, noteCharsMax - 1).join('')}…`
}
