/**
 * Duty: measure one file in one pass: bytes, newlines, digest of the content, row of the report, notes, text of a manifest.
 * MEASURE-1 A file is opened once, in the way of folder.ts, and only a regular file is read.
 * MEASURE-2 An error of the file is part of the result. Only errors that are not the file's fault are thrown.
 */
import { createHash, hash } from 'node:crypto'
import { closeSync, fstatSync, readSync, type Stats } from 'node:fs'
import { type OpenFolder, type Sort, sortOf } from '../tree/folder.ts'
import type { BytePath } from '../tree/path.ts'
import { codeOf, reasonOf } from '../tree/reason.ts'
import type { Checkpoint } from '../tree/walk.ts'
import { isHole, isOfKernel } from './kernel.ts'
import { binary, isLanguage, languageOf } from './languages.ts'
import { countNewlines } from './newlines.ts'
import { NoteScanner, type Notes } from './notes.ts'

/** How much of a file of the kernel (in /proc) is read. Such a file may have no end. */
const endlessBytesMax = 16 * 1024 * 1024

/** One buffer for the thread, which reads one file at a time. */
const buffer = Buffer.allocUnsafeSlow(256 * 1024)

export interface FileMeasure {
  readonly kind: 'file'
  /** Its size according to lstat or fstat. */
  readonly bytes: number
  /** Newlines in the part that could be read. */
  readonly lines: number
  /** Row of the report: a language, other text or binary. Null if nothing could be read. */
  readonly row: string | null
  /** The digest, one character for each byte. Null if the file is empty or was not read to its end. */
  readonly sha256: string | null
  readonly notes: Notes | null
  /** Its content, if the caller asked for it and the file is not larger than `textBytesMax`. */
  readonly text: string | null
  readonly isHardLinked: boolean
  /** Why it could not be read to its end. Null if it was. */
  readonly unreadable: string | null
}

export type Measured =
  | FileMeasure
  /** The file vanished, or is no longer a file. */
  | { readonly kind: 'gone'; readonly reason: string }
  | { readonly kind: 'unfit'; readonly sort: Exclude<Sort, 'file'> }

export interface MeasureOptions {
  /** Files up to this size come with their text. */
  readonly textBytesMax: number
  readonly checkpoint: Checkpoint
}

/** Measures the file `name` of the folder. */
export function measureFile(within: OpenFolder, name: BytePath, options: MeasureOptions): Measured {
  let descriptor: number
  try {
    descriptor = within.openFile(name)
  } catch (error) {
    return unopened(within, name, reasonOf(error), codeOf(error))
  }
  try {
    const stats = fstatSync(descriptor)
    const sort = sortOf(stats)
    if (sort !== 'file') return { kind: 'unfit', sort }
    if (isHole(descriptor, stats)) return holeFile(stats)
    return new FileReading(name, descriptor, stats, options).run()
  } finally {
    closeSync(descriptor)
  }
}

/** A file that could not be opened still counts, with its size if that is known. */
function unopened(within: OpenFolder, name: BytePath, reason: string, code: string): Measured {
  if (code === 'ENOENT') return { kind: 'gone', reason }
  try {
    const stats = within.lstat(name)
    const sort = sortOf(stats)
    return sort === 'file' ? unreadFile(stats.size, reason) : { kind: 'unfit', sort }
  } catch (error) {
    // The listing says that it is a file, and lstat is refused: the folder may be listed but not entered.
    return codeOf(error) === 'ENOENT' ? { kind: 'gone', reason: reasonOf(error) } : unreadFile(0, reasonOf(error))
  }
}

/** The result as if its zeros had been read, except for the digest, which only files without data of this size have. */
function holeFile(stats: Stats): FileMeasure {
  const sha256 = hash('sha256', `a hole of ${stats.size} bytes`, 'binary')
  const nothing = { lines: 0, notes: null, text: null, unreadable: null }
  return { kind: 'file', bytes: stats.size, row: binary, sha256, isHardLinked: stats.nlink > 1, ...nothing }
}

/** Decodes text as UTF-8, unless a byte order mark says that it is UTF-16. */
function textOf(bytes: Buffer): string {
  const mark = bytes.toString('latin1', 0, 2)
  const encoding = mark === '\xff\xfe' ? 'utf-16le' : mark === '\xfe\xff' ? 'utf-16be' : null
  return encoding === null ? bytes.toString('utf8') : new TextDecoder(encoding).decode(bytes)
}

function unreadFile(bytes: number, unreadable: string): FileMeasure {
  const nothing = { lines: 0, row: null, sha256: null, notes: null, text: null, isHardLinked: false }
  return { kind: 'file', bytes, ...nothing, unreadable }
}

class FileReading {
  readonly #name: BytePath
  readonly #descriptor: number
  readonly #size: number
  readonly #isHardLinked: boolean
  readonly #checkpoint: Checkpoint
  readonly #textBytesMax: number
  /** The file may have no end, so its size means nothing. */
  readonly #isEndless: boolean
  #texts: Buffer[] | null
  #lines = 0
  #row: string | null = null
  #notes: NoteScanner | null = null
  #sha256 = ''

  constructor(name: BytePath, descriptor: number, stats: Stats, options: MeasureOptions) {
    this.#name = name
    this.#descriptor = descriptor
    this.#size = stats.size
    this.#isHardLinked = stats.nlink > 1
    this.#checkpoint = options.checkpoint
    this.#textBytesMax = options.textBytesMax
    this.#texts = options.textBytesMax > 0 && stats.size <= options.textBytesMax ? [] : null
    this.#isEndless = stats.size === 0 || isOfKernel(descriptor, stats.dev)
  }

  run(): FileMeasure {
    let total = 0
    let unreadable: string | null = null
    try {
      total = this.#readAll()
    } catch (error) {
      unreadable = reasonOf(error)
    }
    const isWhole = unreadable === null && total === this.#size
    return {
      kind: 'file',
      bytes: this.#size,
      lines: this.#lines,
      row: this.#row,
      sha256: isWhole && total > 0 ? this.#sha256 : null,
      notes: this.#notes?.finish() ?? null,
      text: isWhole && this.#texts !== null ? textOf(Buffer.concat(this.#texts)) : null,
      isHardLinked: this.#isHardLinked,
      unreadable,
    }
  }

  /** Reads as many bytes as the file had when it was opened; or to its end, if its size means nothing. */
  #readAll(): number {
    const sizeMax = this.#isEndless ? endlessBytesMax : this.#size
    const first = this.#read(sizeMax)
    if (first.length === 0) return 0
    const row = languageOf(this.#name, first)
    this.#row = row
    if (isLanguage(row)) this.#notes = new NoteScanner()
    this.#look(first)
    if (first.length === this.#size) {
      this.#sha256 = hash('sha256', first, 'binary')
      return first.length
    }
    const hashing = createHash('sha256').update(first)
    let total = first.length
    while (total < sizeMax) {
      const piece = this.#read(sizeMax - total)
      if (piece.length === 0) break
      this.#look(piece)
      hashing.update(piece)
      total += piece.length
      if (total > this.#textBytesMax) this.#texts = null
    }
    if (this.#isEndless && total === endlessBytesMax) throw Object.assign(new Error(), { code: 'ENDLESS' })
    this.#sha256 = hashing.digest('binary')
    return total
  }

  #look(piece: Buffer): void {
    this.#lines += countNewlines(piece)
    this.#notes?.push(piece)
    this.#texts?.push(Buffer.from(piece))
  }

  #read(bytesMax: number): Buffer {
    this.#checkpoint()
    const bytes = readSync(this.#descriptor, buffer, 0, Math.min(bytesMax, buffer.length), null)
    return buffer.subarray(0, bytes)
  }
}
