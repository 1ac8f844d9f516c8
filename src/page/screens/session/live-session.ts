/**
 * Duty: follow one session: its events, the text that its models write now, and which workers have changed.
 * LIVE-1 Text that is being written is only shown. It goes when the reply is in the history, which has the last word.
 * LIVE-2 It keeps a bounded number of events, however long somebody looks.
 */
import { useEffect, useState, useSyncExternalStore } from 'react'
import type { RawEvent } from '../../../core/event/event.ts'
import { follow } from '../../api/event-stream.ts'
import { useLiveness } from '../../api/liveness.ts'
import { PacedRead } from '../../api/paced-read.ts'
import { queries } from '../../api/queries.ts'
import { serverTime } from '../../api/server-time.ts'
import { isInFile } from '../../api/session-file.ts'

/** What a model has written of a reply that is not recorded yet. */
export interface LiveText {
  readonly request: string
  readonly reasoning: string
  readonly text: string
  /** True once the reply is recorded: the history will show it. */
  readonly isDone: boolean
}

const eventsMost = 1_000
/** A follower gets the events of the last minutes first. */
const pastMs = 600_000

const endsReply: ReadonlySet<string> = new Set([
  'model.replied',
  'model.blanked',
  'turn.retried',
  'worker.failed',
  'worker.cancelled',
  'run.completed',
])

export class LiveSession {
  readonly #listeners = new Set<() => void>()
  readonly #texts = new Map<string, LiveText>()
  readonly #changes = new Map<string, number>()
  #events: readonly RawEvent[] = []
  readonly #reads: readonly PacedRead[]

  constructor(id: string) {
    const report = `sessions/${id}`
    // A timeline may take seconds to read, and must not hold up the tree.
    this.#reads = [new PacedRead((path) => path === report), new PacedRead((path) => path.startsWith(`${report}/`))]
  }

  readonly subscribe = (listener: () => void): (() => void) => {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Stored events, the oldest first. */
  get events(): readonly RawEvent[] {
    return this.#events
  }

  textOf(workerId: string): LiveText | undefined {
    return this.#texts.get(workerId)
  }

  /** Grows with each stored event of the worker. */
  changesOf(workerId: string): number {
    return this.#changes.get(workerId) ?? 0
  }

  /** Forgets live text of a worker whose history was read: what the history holds is no longer live. */
  forgetText(workerId: string): void {
    if (this.#texts.get(workerId)?.isDone !== true) return
    this.#texts.delete(workerId)
    this.#notify()
  }

  note(events: readonly RawEvent[]): void {
    const stored = events.filter(({ transient }) => transient !== true)
    for (const event of events) this.#noteText(event)
    for (const { workerId } of stored) this.#changes.set(workerId, this.changesOf(workerId) + 1)
    if (stored.length > 0) this.#events = [...this.#events, ...stored].slice(-eventsMost)
    if (stored.length > 0 || events.some(({ type }) => type === 'worker.stateChanged'))
      for (const read of this.#reads) read.soon()
    if (stored.some(({ type }) => type.startsWith('ask.')))
      for (const inbox of ['approvals', 'asks']) void queries.invalidateQueries({ queryKey: [inbox] })
    this.#notify()
  }

  stop(): void {
    for (const read of this.#reads) read.stop()
  }

  #noteText({ type, workerId, details }: RawEvent): void {
    const known = this.#texts.get(workerId)
    if (known !== undefined && endsReply.has(type)) this.#texts.set(workerId, { ...known, isDone: true })
    if (type !== 'text.delta' && type !== 'reasoning.delta') return
    const { request, text, offset } = details as {
      readonly request: string
      readonly text: string
      readonly offset: number
    }
    const now = known?.request === request ? known : { request, reasoning: '', text: '', isDone: false }
    const field = type === 'text.delta' ? 'text' : 'reasoning'
    // A piece that was lost leaves a gap, and one that comes twice changes nothing.
    const before = now[field].slice(0, offset).padEnd(offset, '…')
    this.#texts.set(workerId, { ...now, [field]: before + text })
  }

  #notify(): void {
    for (const listener of this.#listeners) listener()
  }
}

/** Follows the session while the page is in sight and not paused. */
export function useLiveSession(id: string): LiveSession {
  const [session, setSession] = useState(() => new LiveSession(id))
  const isPaused = useLiveness().state === 'paused'
  const isHidden = useHidden()
  useEffect(() => {
    if (isPaused || isHidden || isInFile(`sessions/${id}`)) return
    const stop = new AbortController()
    const live = new LiveSession(id)
    setSession(live)
    const onEvents = (events: readonly RawEvent[]) => live.note(events)
    const followPast = async () => {
      const after = String((await serverTime()) - pastMs)
      await follow(`sessions/${id}/events`, { query: { after }, signal: stop.signal, onEvents })
    }
    followPast().catch(() => {
      // The report of the session says why.
    })
    return () => {
      stop.abort()
      live.stop()
    }
  }, [id, isPaused, isHidden])
  return session
}

function useHidden(): boolean {
  return useSyncExternalStore(
    (listener) => {
      document.addEventListener('visibilitychange', listener)
      return () => document.removeEventListener('visibilitychange', listener)
    },
    () => document.hidden,
  )
}

export function useEvents(live: LiveSession): readonly RawEvent[] {
  return useSyncExternalStore(live.subscribe, () => live.events)
}

export function useLiveText(live: LiveSession, workerId: string): LiveText | undefined {
  return useSyncExternalStore(live.subscribe, () => live.textOf(workerId))
}

export function useChanges(live: LiveSession, workerId: string): number {
  return useSyncExternalStore(live.subscribe, () => live.changesOf(workerId))
}
