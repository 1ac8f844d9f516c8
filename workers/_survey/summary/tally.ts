/**
 * Duty: add up what one reader finds in its part, and return its summary.
 * SURVEY-TALLY-1 Memory is bounded, because only the first items of every list are kept.
 */
import { ContentCollector, cutDigest } from '../measure/contents.ts'
import { brokenManifest, isManifest, manifestBytesMax, readManifest } from '../measure/manifests.ts'
import type { FileMeasure, Measured } from '../measure/measure.ts'
import { notesMax } from '../measure/notes.ts'
import type { Sort } from '../tree/folder.ts'
import { type BytePath, cutPath, encodePath, namesOf, type PathText } from '../tree/path.ts'
import {
  type Counts,
  compareNotes,
  comparePlaces,
  compareSizes,
  largestMax,
  listMax,
  type ManifestPlace,
  noCounts,
  type PlacedNote,
  type ReasonPlace,
  type Row,
  type SizedFile,
  type Summary,
} from './summary.ts'
import { Top } from './top.ts'

export class Tally {
  readonly #counts: Counts = noCounts()
  readonly #rows = new Map<string, Row>()
  readonly #contents = new ContentCollector()
  readonly #largest = new Top<SizedFile>(largestMax, compareSizes)
  readonly #notes = new Top<PlacedNote>(notesMax, compareNotes)
  readonly #manifests = new Top<ManifestPlace>(listMax, comparePlaces)
  readonly #brokenManifests = new Top<ReasonPlace>(listMax, comparePlaces)
  readonly #unread = new Top<ReasonPlace>(listMax, comparePlaces)
  #hasOwnFolder = false

  /** An entry that is not read as a file. */
  addEntry(sort: Exclude<Sort, 'file'>): void {
    if (sort === 'folder') this.#counts.folders++
    else if (sort === 'link') this.#counts.links++
    else this.#counts.others++
  }

  addOwnFolder(): void {
    this.#hasOwnFolder = true
  }

  addUnreadable(path: BytePath, reason: string): void {
    this.#counts.unreadable++
    this.#unread.add({ path: shorten(path), reason })
  }

  addMeasured(path: BytePath, measured: Measured): void {
    if (measured.kind === 'unfit') this.addEntry(measured.sort)
    else if (measured.kind === 'gone') this.addUnreadable(path, measured.reason)
    else this.#addFile(path, measured)
  }

  summary(): Summary {
    return {
      counts: { ...this.#counts, workers: 1 },
      hasOwnFolder: this.#hasOwnFolder,
      rows: Object.fromEntries(this.#rows),
      contents: this.#contents.pack(),
      largest: this.#largest.list(),
      notes: this.#notes.list(),
      manifests: this.#manifests.list(),
      brokenManifests: this.#brokenManifests.list(),
      unread: this.#unread.list(),
      lost: [],
    }
  }

  #addFile(path: BytePath, file: FileMeasure): void {
    const counts = this.#counts
    counts.files++
    counts.bytes += file.bytes
    counts.lines += file.lines
    if (file.bytes === 0 && file.unreadable === null) counts.emptyFiles++
    if (file.isHardLinked) counts.hardLinkedFiles++
    if (file.unreadable !== null) this.addUnreadable(path, file.unreadable)
    this.#largest.add({ path: shorten(path), bytes: file.bytes })
    if (file.row !== null) this.#addRow(file.row, file)
    if (file.sha256 !== null) {
      counts.hashedFiles++
      this.#contents.add(file.bytes, cutDigest(file.sha256))
    }
    if (file.notes !== null) this.#addNotes(path, file.notes)
    if (isManifest(path)) this.#addManifest(path, file)
  }

  #addRow(name: string, file: FileMeasure): void {
    const row = this.#rows.get(name)
    if (row === undefined) {
      this.#rows.set(name, { files: 1, bytes: file.bytes, lines: file.lines })
      return
    }
    row.files++
    row.bytes += file.bytes
    row.lines += file.lines
  }

  #addNotes(path: BytePath, notes: NonNullable<FileMeasure['notes']>): void {
    this.#counts.todo += notes.todo
    this.#counts.fixme += notes.fixme
    for (const note of notes.kept) this.#notes.add({ path: shorten(path), ...note })
  }

  #addManifest(path: BytePath, file: FileMeasure): void {
    const name = namesOf(path).at(-1) as BytePath
    const isTooBig = file.bytes > manifestBytesMax
    const reason = file.unreadable ?? (isTooBig ? 'too big to be read as a manifest' : 'changed while it was read')
    const reading = file.text === null ? brokenManifest(name, reason) : readManifest(name, file.text)
    this.#counts.manifestFiles++
    if (reading.kind === 'broken') {
      this.#brokenManifests.add({ path: shorten(path), reason: reading.reason })
      return
    }
    for (const { count } of reading.groups) this.#counts.declared += count
    this.#manifests.add({ path: shorten(path), ecosystem: reading.ecosystem, groups: reading.groups })
  }
}

function shorten(path: BytePath): PathText {
  return encodePath(cutPath(path))
}
