/** Duty: turn what Redis answers into objects; and if a key may be of another sort, say what is taken instead. */
import type { ChainableCommander } from 'ioredis'
import type { RawEvent } from '../../core/event/event.ts'
import { decodeEvents } from '../../core/event/event-notes.ts'

/** The fields of a hash, or of an entry of a stream. */
export type RecordFields = Readonly<Record<string, string>>

/** What a key holds, or `instead` if somebody made it another sort. */
export async function orElse<Read, Instead>(reading: Promise<Read>, instead: Instead): Promise<Read | Instead> {
  try {
    return await reading
  } catch (error) {
    if (error instanceof Error && error.message.startsWith('WRONGTYPE')) return instead
    throw error
  }
}

/** What each command of a pipeline read, or the error that its key is of another sort. */
export async function repliesOf(pipeline: ChainableCommander): Promise<unknown[]> {
  return ((await pipeline.exec()) ?? []).map(([error, reply]) => {
    if (error !== null && !error.message.startsWith('WRONGTYPE')) throw error
    return error ?? reply
  })
}

/** The members of a zset with their scores. */
export function scored(flat: readonly string[]): [member: string, score: number][] {
  const found: [string, number][] = []
  for (let index = 0; index + 1 < flat.length; index += 2) found.push([flat[index] as string, Number(flat[index + 1])])
  return found
}

/** The fields of a hash, from names and values in turn. */
export function toFields(flat: readonly string[]): Record<string, string> {
  const fields: Record<string, string> = {}
  for (let index = 0; index + 1 < flat.length; index += 2) fields[flat[index] as string] = flat[index + 1] as string
  return fields
}

/** The fields that were asked for by these names, without those that the hash does not have. */
export function fieldsNamed(names: readonly string[], values: readonly (string | null)[]): Record<string, string> {
  const fields: Record<string, string> = {}
  for (const [index, name] of names.entries()) if (values[index] != null) fields[name] = values[index]
  return fields
}

/** What an entry of the event stream holds for one commit, as core/event/event-notes.ts reads it; the commits of one script share an entry. */
export interface EventEntry {
  readonly id: string
  /** Number within the entry. */
  readonly part: number
  /** `<session>`, or `<session> <worker>`. */
  readonly about: string
  readonly notes: string
}

/** An entry that another program wrote tells nothing, and hides no other event. */
export function eventsOf({ id, about, notes, part }: EventEntry): RawEvent[] {
  try {
    return decodeEvents(id, about, notes, part)
  } catch {
    return []
  }
}

export function toEventEntries(entries: readonly [id: string, flat: string[]][]): EventEntry[] {
  const found: EventEntry[] = []
  for (const [id, flat] of entries) {
    for (let index = 0; index + 1 < flat.length; index += 2)
      found.push({ id, part: index / 2, about: flat[index] as string, notes: flat[index + 1] as string })
  }
  return found
}

/** Stream entries with their fields as an object. */
export function toEntries(entries: readonly [id: string, flat: string[]][]): { id: string; fields: RecordFields }[] {
  return entries.map(([id, flat]) => ({ id, fields: toFields(flat) }))
}
