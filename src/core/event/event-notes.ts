/**
 * Duty: events as the stream keeps them. A field of a stream entry is whom it tells of, `<session>`, or `<session> <worker>` where
 * that is not the root; its value is what one commit changed, a JSON array of notes: [type, details], or [type, value, ...] where `orders`
 * has an order for the type, since names in each event would take more room than what they name.
 * N1 What is appended to an order later is missing in notes of before; nothing of it ever changes its place.
 * N2 The note with which a session ended is the last of its array: ["session.<status>"], with the position of its result where there is one. Scripts
 *    write it, behind what the node says of the run that ended with it.
 */
import type { ResultStatus, RunResult } from '../history/entry.ts'
import { idLength, rootIdOf } from '../ids.ts'
import type { Ended, EventNote, EventType, RawEvent } from './event.ts'
import type { EventDetails } from './event-details.ts'

type Orders = { readonly [Type in EventType]?: readonly (keyof EventDetails[Type] & string)[] }

/** Of what is told most: of each detail its place; one without a place is not written. */
const orders = {
  'session.created': ['kind', 'name', 'mode'],
  'worker.spawned': ['id', 'kind', 'name', 'detached'],
  'message.consumed': ['kind', 'from'],
  'model.replied': ['model', 'iteration', 'calls', 'inputTokens', 'outputTokens', 'finishReason'],
  'tool.started': ['toolCallId', 'toolName'],
  'tool.succeeded': ['toolCallId', 'toolName', 'ms'],
  'tool.failed': ['toolCallId', 'toolName', 'ms'],
} as const satisfies Orders

/** The parent of a worker that was spawned is the worker that tells of it. */
type Derived = { readonly 'worker.spawned': 'parent' }
type Placed<Type extends keyof typeof orders> =
  | (typeof orders)[Type][number]
  | (Type extends keyof Derived ? Derived[Type] : never)
/** Details without a place: there must be none. */
type Unplaced = { [Type in keyof typeof orders]: Exclude<keyof EventDetails[Type], Placed<Type>> }[keyof typeof orders]
true satisfies Unplaced extends never ? true : Unplaced

type Details = Readonly<Record<string, unknown>>
type StoredNote = readonly [type: EventType, ...values: unknown[]]

export function encodeEvents(notes: readonly EventNote[]): string {
  return JSON.stringify(notes.map(toStored))
}

function toStored([type, details]: EventNote): StoredNote {
  const order: readonly string[] | undefined = orders[type as keyof typeof orders]
  if (order === undefined || details === undefined) return details === undefined ? [type] : [type, details]
  const stored: [EventType, ...unknown[]] = [type]
  for (const [index, name] of order.entries()) {
    const value = (details as Details)[name]
    // Those between it and the one before that is there become null.
    if (value !== undefined) stored[index + 1] = value
  }
  return stored
}

/** The session that a field tells of. */
export function sessionIn(about: string): string {
  return about.slice(0, idLength)
}

/** No commit makes more events. */
const partSize = 100_000

/**
 * What a stream entry tells of one commit, as events; `part`: its number within the entry. Types of a newer troupe are passed on as they
 * are. Throws for what is no JSON array.
 */
export function decodeEvents(id: string, about: string, notes: string, part = 0): RawEvent[] {
  const [sessionId, workerId = rootIdOf(sessionId)] = about.split(' ') as [string, string?]
  const head = { sessionId, workerId, at: Number(id.split('-')[0]) }
  return (JSON.parse(notes) as StoredNote[]).map((note, index) => {
    const [type] = note
    const event = { id: `${id}.${part * partSize + index}`, ...head, type }
    const ended = endOf(note)
    return ended === null ? { ...event, details: detailsOf(note, workerId) } : { ...event, details: {}, ended }
  })
}

function detailsOf([type, ...values]: StoredNote, workerId: string): Details {
  const order: readonly string[] | undefined = orders[type as keyof typeof orders]
  if (order === undefined) return (values[0] as Details | undefined) ?? {}
  const details: Record<string, unknown> = {}
  for (const [index, name] of order.entries()) if (values[index] != null) details[name] = values[index]
  if (type === 'worker.spawned') details.parent = workerId
  return details
}

const sessionEnds = /^session\.(completed|failed|cancelled)$/

function endOf([type, position = null]: StoredNote): Omit<Ended, 'result'> | null {
  const status = sessionEnds.exec(type)?.[1] as ResultStatus | undefined
  return status === undefined ? null : { status, position: position as number | null }
}

/** The result of a run, by the note of its end. */
function resultIn([type, details]: StoredNote): RunResult | null {
  if (type === 'worker.failed') return { status: 'failed', ...(details as EventDetails['worker.failed']) }
  if (type !== 'run.completed' || details === undefined) return null
  const { run = 1, value } = details as EventDetails['run.completed']
  return { status: 'completed', run, value }
}

const mayTellOfEnd = /"session\.(?:completed|failed|cancelled)"/

/** How these notes say that the session ended, or null. */
export function endIn(notes: string): Ended | null {
  if (!mayTellOfEnd.test(notes)) return null
  const stored = JSON.parse(notes) as StoredNote[]
  const [last, before] = [stored.at(-1), stored.at(-2)]
  const ended = last === undefined ? null : endOf(last)
  if (ended === null) return null
  // A conversation that was closed has no result: what is told before its end is not what it ended with.
  const result = before === undefined || ended.position === null ? null : resultIn(before)
  return { ...ended, result: result?.status === ended.status ? result : null }
}

const mayTellOfRunEnd = /"(?:run\.completed|worker\.failed|worker\.cancelled|session\.(?:completed|failed|cancelled))"/

/** False only for notes with which no run has ended; told without decoding them. */
export function mayEndRun(notes: string): boolean {
  return mayTellOfRunEnd.test(notes)
}
