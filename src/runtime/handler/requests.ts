/** Duty: what a handler asked for in one receive, and how its history and its events name that. */
import type { RuntimeError } from '../../core/errors.ts'
import type { EventNote } from '../../core/event/event.ts'
import type { AskNote, ReceivedEntry, SpawnNote } from '../../core/history/entry.ts'
import type { AskOrder, SendOrder, SpawnOrder } from '../../core/ports/ports.ts'

/** What a handler asked for in one receive. */
export interface Requests {
  readonly spawns: SpawnOrder[]
  readonly spawnNotes: SpawnNote[]
  readonly sends: SendOrder[]
  readonly timers: { id: string; ms: number; valueJson: string }[]
  readonly asks: AskOrder[]
  readonly askNotes: AskNote[]
  stateJson: string | undefined
  replyJson: string | undefined
  failure: RuntimeError | undefined
}

/** The calls of the children whose results the run waits for. */
export function awaitedIn({ spawns }: Requests): readonly number[] {
  return spawns.filter(({ detached }) => !detached).map(({ call }) => call)
}

/** What the entry of the message that was received says of them. */
export function namedInEntry({ spawnNotes, sends, timers, askNotes }: Requests) {
  const named: { -readonly [key in 'spawned' | 'sent' | 'timers' | 'asks']?: ReceivedEntry[key] } = {}
  if (spawnNotes.length > 0) named.spawned = spawnNotes
  if (sends.length > 0) named.sent = sends.map((send) => send.workerId)
  if (timers.length > 0) named.timers = timers.map(({ id, ms }) => ({ id, ms }))
  if (askNotes.length > 0) named.asks = askNotes
  return named
}

/** `parent`: the id of the worker that asked. */
export function notesOf({ spawnNotes, askNotes }: Requests, parent: string): readonly EventNote[] {
  const spawned = spawnNotes.map(
    ({ id, kind, name, detached }): EventNote => [
      'worker.spawned',
      { id, kind, name, parent, ...(detached && { detached }) },
    ],
  )
  return [...spawned, ...askNotes.map((note): EventNote => ['ask.opened', note])]
}
