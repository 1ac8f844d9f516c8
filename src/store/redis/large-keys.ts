/**
 * Duty: read large keys some elements at a time: users may make them large, and one command would hold Redis for as long.
 * LARGE-KEYS-1 Of a hash or a set all is read that is there all the time. What comes or goes meanwhile may be missing.
 * LARGE-KEYS-2 An element of a list has a hundred bytes or some million. So the size of each piece follows from the elements before it.
 */
import type { Redis } from './redis.ts'

/** A small key is answered whole. */
const atOnce = 500

/** The names and values of a hash, about so many at once. */
export async function allFields(redis: Redis, key: string, count = atOnce): Promise<Record<string, string>> {
  const fields: Record<string, string> = {}
  for await (const flat of pages((cursor) => redis.hscan(key, cursor, 'COUNT', count)))
    for (let index = 0; index + 1 < flat.length; index += 2) fields[flat[index] as string] = flat[index + 1] as string
  return fields
}

/** The members of a set. */
export async function allMembers(redis: Redis, key: string): Promise<string[]> {
  const members = new Set<string>()
  for await (const page of pages((cursor) => redis.sscan(key, cursor, 'COUNT', atOnce)))
    for (const member of page) members.add(member)
  return [...members]
}

/** The members of a zset, in no order. */
export async function allRanked(redis: Redis, key: string): Promise<string[]> {
  const members = new Set<string>()
  for await (const flat of pages((cursor) => redis.zscan(key, cursor, 'COUNT', atOnce)))
    for (let index = 0; index < flat.length; index += 2) members.add(flat[index] as string)
  return [...members]
}

async function* pages(read: (cursor: string) => Promise<[next: string, page: string[]]>) {
  let cursor = '0'
  do {
    const [next, page] = await read(cursor)
    yield page
    cursor = next
  } while (cursor !== '0')
}

/** Nobody knows how large the first elements are. */
export const firstPiece = 8

/** How many further elements have about so many bytes, if they are like those that were read; at least one. */
export function pieceLike(
  read: { readonly count: number; readonly bytes: number },
  { bytesMost = 1_048_576, most = 1_000 } = {},
): number {
  return Math.min(most, Math.max(1, Math.floor((bytesMost * read.count) / Math.max(1, read.bytes))))
}
