/**
 * Duty: read entries of a history, packed or not. Only this module reads the list of a history; others read its length or its last element.
 * READ-ENTRIES-1 A history that is not packed costs what reading its list costs. One that is packed costs one more read at most for each piece, of the
 *     pack that begins before its first position.
 * READ-ENTRIES-2 Many entries are read in pieces (redis/large-keys.ts): no read holds Redis for long.
 */
import type { Buffer } from 'node:buffer'
import { firstPiece, pieceLike } from '../redis/large-keys.ts'
import type { Redis } from '../redis/redis.ts'
import { StoredDamage } from '../redis/store-error.ts'
import { distanceOf, isEntry, unpacked } from './pack.ts'

/** The entries from one position to another one. Negative positions count from the end, as those of Redis do. */
export async function readEntries(redis: Redis, log: string, from: number, to: number): Promise<string[]> {
  if (to - from < firstPiece) return readPiece(redis, log, from, to)
  if (from < 0) return fromBeginning(redis, log, from, to)
  const texts: string[] = []
  let [count, bytes] = [firstPiece, 0]
  for (let at = from; at <= to; at += count) {
    if (texts.length > 0) count = pieceLike({ count: texts.length, bytes })
    const last = Math.min(to, at + count - 1)
    const piece = await readPiece(redis, log, at, last)
    for (const text of piece) {
      texts.push(text)
      bytes += text.length
    }
    if (piece.length <= last - at) break
  }
  return texts
}

/** Entries may be appended between two reads: here positions count from the beginning. */
async function fromBeginning(redis: Redis, log: string, from: number, to: number): Promise<string[]> {
  const length = await redis.llen(log)
  const last = to < 0 ? length + to : to
  // Redis would count a negative position from the end again.
  return last < 0 ? [] : readEntries(redis, log, Math.max(0, length + from), last)
}

async function readPiece(redis: Redis, log: string, from: number, to: number): Promise<string[]> {
  const page = await redis.lrangeBuffer(log, from, to)
  const texts: string[] = []
  for (const element of page) {
    if (!isEntry(element)) return unpack(redis, log, page, from, to)
    texts.push(element.toString())
  }
  return texts
}

async function unpack(redis: Redis, log: string, page: readonly Buffer[], from: number, to: number): Promise<string[]> {
  if (from < 0) return fromBeginning(redis, log, from, to)
  const packs = new Map<number, Buffer[]>()
  const open = async (position: number) => {
    const known = packs.get(position)
    if (known !== undefined) return known
    const element = position < from ? await redis.lindexBuffer(log, position) : page[position - from]
    // The history was pruned meanwhile: the reader gets what is left.
    if (element === null) return null
    const entries = element === undefined ? null : unpacked(element)
    if (entries === null)
      throw new StoredDamage(`entry ${position} of ${log} should be a pack of entries that this version can read`)
    packs.set(position, entries)
    return entries
  }
  const texts: string[] = []
  for (const [index, element] of page.entries()) {
    if (isEntry(element)) {
      texts.push(element.toString())
      continue
    }
    const distance = distanceOf(element)
    const entries = await open(from + index - distance)
    if (entries === null) return texts
    const entry = entries[distance]
    if (entry === undefined) throw new StoredDamage(`entry ${from + index} of ${log} should be in the pack before it`)
    texts.push(entry.toString())
  }
  return texts
}

/** The entry at a position; null without one. */
export async function readEntry(redis: Redis, log: string, position: number): Promise<string | null> {
  const element = await redis.lindexBuffer(log, position)
  if (element === null || isEntry(element)) return element?.toString() ?? null
  const [entry = null] = await readEntries(redis, log, position, position)
  return entry
}
