/**
 * Duty: read all of a hash or of a set, some elements at a time: users may make them large, and one command would hold Redis for as long.
 * SCANS-1 What is there all the time is read. What comes or goes meanwhile may be missing.
 */
import type { Redis } from './redis.ts'

/** A small key is answered whole. */
const atOnce = 500

/** The names and values of a hash. */
export async function allFields(redis: Redis, key: string): Promise<Record<string, string>> {
  const fields: Record<string, string> = {}
  for await (const flat of pages((cursor) => redis.hscan(key, cursor, 'COUNT', atOnce)))
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
