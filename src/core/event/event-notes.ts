/**
 * Duty: encode and decode events as the stream stores them. An entry of the stream holds what one commit changed. Its field is the subject:
 * `<session>`, or `<session> <worker>` if the worker is not the root. Its value is a JSON array of notes. A note is [type, details]; if `orders`
 * lists the type, it is [type, value, ...], because names of details in each event would take more room than the values.
 * EVENT-1 A detail that is appended to an order later is missing in older notes. No detail ever changes its position.
 * EVENT-2 The note of a session's end is the last in its array: ["session.<status>"], with the position of the result if there is one. Scripts
 *         write it behind the notes that the node wrote about the run that ended with it.
 */
import type { ResultStatus, RunResult } from '../history/entry.ts'
import { idLength, rootIdOf } from '../ids.ts'
import { jsonWithoutKnownSecrets } from '../secret/known-secrets.ts'
import type { Ended, EventNote, EventType, RawEvent } from './event.ts'
import type { EventDetails } from './event-details.ts'

type Orders = { readonly [Type in EventType]?: readonly (keyof EventDetails[Type] & string)[] }

/** For the most frequent types of events: the order of their details. A detail that is not listed is not written. */
const orders = {
  'session.created': ['kind', 'name', 'mode', 'by', 'messages', 'rests', 'forkedFrom', 'dryRun', 'branchOf'],
  'worker.spawned': ['id', 'kind', 'name', 'detached'],
  'message.consumed': ['kind', 'from', 'when', 'ms'],
  'model.replied': ['model', 'iteration', 'calls', 'inputTokens', 'outputTokens', 'finishReason', 'costMicroUsd'],
  'tool.started': ['toolCallId', 'toolName'],
  'tool.succeeded': ['toolCallId', 'toolName', 'ms'],
  'tool.failed': ['toolCallId', 'toolName', 'ms', 'error', 'thrownAt'],
} as const satisfies Orders

/** Details that are not stored: the parent of a spawned worker is the subject of the event. */
type Derived = { readonly 'worker.spawned': 'parent' }
type Listed<Type extends keyof typeof orders> =
  | (typeof orders)[Type][number]
  | (Type extends keyof Derived ? Derived[Type] : never)
/** Details that no order lists. There must be none. */
type Unlisted = { [Type in keyof typeof orders]: Exclude<keyof EventDetails[Type], Listed<Type>> }[keyof typeof orders]
true satisfies Unlisted extends never ? true : Unlisted

type Details = Readonly<Record<string, unknown>>
type StoredNote = readonly [type: EventType, ...values: unknown[]]

export function encodeEvents(notes: readonly EventNote[]): string {
  return jsonWithoutKnownSecrets(JSON.stringify(notes.map(toStored)))
}

function toStored([type, details]: EventNote): StoredNote {
  const order: readonly string[] | undefined = orders[type as keyof typeof orders]
  if (order === undefined || details === undefined) return details === undefined ? [type] : [type, details]
  const stored: [EventType, ...unknown[]] = [type]
  for (const [index, name] of order.entries()) {
    const value = (details as Details)[name]
    // Absent details before it become null.
    if (value !== undefined) stored[index + 1] = value
  }
  return stored
}

/** The session in the field of a stream entry. */
export function sessionIn(subject: string): string {
  return subject.slice(0, idLength)
}

/** More than the number of events of any commit. */
const partSize = 100_000

/**
 * Decodes the events of one commit. `part`: the number of the commit within the stream entry. Events of types that a newer version added are
 * passed on as they are. Throws if the notes are not a JSON array.
 */
export function decodeEvents(id: string, subject: string, notes: string, part = 0): RawEvent[] {
  const [sessionId, workerId = rootIdOf(sessionId)] = subject.split(' ') as [string, string?]
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

/** The result of a run, from the note of its end. */
function resultIn([type, details]: StoredNote): RunResult | null {
  if (type === 'worker.failed') return { status: 'failed', ...(details as EventDetails['worker.failed']) }
  if (type !== 'run.completed' || details === undefined) return null
  const { run = 1, value } = details as EventDetails['run.completed']
  return { status: 'completed', run, value }
}

const mayHoldSessionEnd = /"session\.(?:completed|failed|cancelled)"/

/** How the session ended, if these notes say that it did; otherwise null. */
export function endIn(notes: string): Ended | null {
  if (!mayHoldSessionEnd.test(notes)) return null
  const stored = JSON.parse(notes) as StoredNote[]
  const [last, before] = [stored.at(-1), stored.at(-2)]
  const ended = last === undefined ? null : endOf(last)
  if (ended === null) return null
  // A conversation that was closed has no result: the note before the end belongs to another run.
  const result = before === undefined || ended.position === null ? null : resultIn(before)
  return { ...ended, result: result?.status === ended.status ? result : null }
}

/** True if a failed run of the session goes on. */
export function saysRetried(notes: string): boolean {
  return notes.includes('"session.retried"')
}

const mayHoldRunEnd = /"(?:run\.completed|worker\.failed|worker\.cancelled|session\.(?:completed|failed|cancelled))"/

/** False only if no run ended with these notes. It decides without decoding them. */
export function mayEndRun(notes: string): boolean {
  return mayHoldRunEnd.test(notes)
}
