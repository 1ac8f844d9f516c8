/**
 * Duty: the packed form of a history that has rested for long (decision 0042). A history is a list of entries. Its oldest ones may be packed, a run
 * of neighbours at a time, and each keeps its position:
 *
 *   0      z3 812 <zstd>         a pack: it stands for 3 entries of 812 bytes, the first of them here
 *   1      1                     its pack is 1 before
 *   2      2 1732700000000 said  its pack is 2 before; the newest entry says when it was written, and its type
 *   3      {"type":...           an entry as it was written
 *
 * Owns: this form. Does not own: reading a list (read-entries.ts), or when entries are packed (history-packer.ts).
 * PACK-1 What is packed stands before all that is not. A pack never moves: it may come to stand for more entries, so a position that was packed
 *        is found where it was.
 * PACK-2 A pack stands for two entries or more, so the last element of a history is never a pack.
 * PACK-3 The letter in front names the codec. Another codec takes another letter, and stands beside this one.
 */
import { Buffer } from 'node:buffer'
import { promisify } from 'node:util'
import { constants, type ZstdOptions, zstdCompress, zstdDecompressSync } from 'node:zlib'
import { decodeEntry, writtenAt } from '../../core/history/entry.ts'
import { packDictionary } from './pack-dictionary.ts'

const codec = 'z'
/** No entry holds one: it is JSON on one line. */
const separator = 10
const brace = 0x7b
const [zero, nine, a, z] = [0x30, 0x39, 0x61, 0x7a]

const level: ZstdOptions = { params: { [constants.ZSTD_c_compressionLevel]: 6 }, dictionary: packDictionary }
const compress = promisify(zstdCompress)

export interface PackHead {
  readonly entries: number
  /** How many bytes the texts of the entries have, with a separator between two. */
  readonly bytes: number
  /** The length of this head, in bytes. */
  readonly length: number
}

/** An element that is an entry as it was written, or that another program wrote. */
export function isEntry(element: Buffer): boolean {
  return element[0] === brace || !(isPlaceholder(element) || isPack(element))
}

/** An element whose entry is in a pack before it. */
function isPlaceholder([first = 0]: Buffer): boolean {
  return first >= zero && first <= nine
}

/** True for a pack of any codec. */
function isPack(element: Buffer): boolean {
  const [first = 0] = element
  return first >= a && first <= z && /^[a-z]\d+ \d+ /.test(startOf(element))
}

function startOf(element: Buffer): string {
  return element.subarray(0, 40).toString('latin1')
}

/** How far before this element the pack is that has its entry: 0 for a pack. */
export function distanceOf(element: Buffer): number {
  return isPlaceholder(element) ? Number.parseInt(startOf(element), 10) : 0
}

/** What stands at the end of a history whose newest entry is packed. */
export function placeholderOf(distance: number, newest?: Buffer): string {
  if (newest === undefined) return String(distance)
  const { at, type } = newestOf(newest.toString())
  return at !== null && /^\w+$/.test(type) ? `${distance} ${at} ${type}` : String(distance)
}

/** What the last element of a history says of its newest entry: when it was written, null where that cannot be read; and its type. */
export function newestOf(element: string | null): { readonly at: number | null; readonly type: string } {
  const [, packedAt, packedType] = /^\d+ (\d+) (\w+)$/.exec(element ?? '') ?? []
  if (packedType !== undefined) return { at: Number(packedAt), type: packedType }
  return { at: writtenAt(element), type: element === null ? '' : decodeEntry(element).type }
}

/** Null for what is no pack of a codec that is known here. */
export function headOf(element: Buffer): PackHead | null {
  const [head, entries, bytes] = /^z(\d+) (\d+) /.exec(startOf(element)) ?? []
  return head === undefined ? null : { entries: Number(entries), bytes: Number(bytes), length: head.length }
}

/**
 * Null if these entries cannot be packed, or would take no less room. A pack is read back before it is used. Elements that somebody else has packed
 * since their positions were read are no entries.
 */
export async function packed(entries: readonly Buffer[]): Promise<Buffer | null> {
  if (entries.some((entry) => entry.includes(separator) || !isEntry(entry))) return null
  const text = Buffer.concat(entries.flatMap((entry, index) => (index === 0 ? [entry] : [Buffer.of(separator), entry])))
  const pack = Buffer.concat([Buffer.from(`${codec}${entries.length} ${text.length} `), await compress(text, level)])
  const isSmaller = pack.length + 3 * entries.length < text.length
  return isSmaller && textOf(pack)?.equals(text) ? pack : null
}

/** The entries for which a pack stands; null if it cannot be read. */
export function unpacked(pack: Buffer): Buffer[] | null {
  const text = textOf(pack)
  if (text === null) return null
  const entries: Buffer[] = []
  for (let from = 0; from <= text.length; ) {
    const end = text.indexOf(separator, from)
    const to = end < 0 ? text.length : end
    entries.push(text.subarray(from, to))
    from = to + 1
  }
  return entries.length === headOf(pack)?.entries ? entries : null
}

function textOf(pack: Buffer): Buffer | null {
  const head = headOf(pack)
  if (head === null) return null
  try {
    const options = { dictionary: packDictionary, maxOutputLength: Math.max(1, head.bytes) }
    const text = zstdDecompressSync(pack.subarray(head.length), options)
    return text.length === head.bytes ? text : null
  } catch {
    return null
  }
}
