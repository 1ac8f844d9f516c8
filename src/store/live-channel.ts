/**
 * Duty: text as it streams and progress of tools, from the node that runs a worker to those who listen now, by pub/sub.
 * CHANNEL-1 Losing a note is harmless and costs nothing: while Redis is away, or does not answer, notes are dropped, never queued.
 * CHANNEL-2 No note arrives twice: publishers use a connection that sends no command again.
 * CHANNEL-3 Only followers pay: a process subscribes to a session only while somebody in it follows that session.
 */
import { transientTypes } from '../core/event/event.ts'
import { partitionOf } from '../core/ids.ts'
import type { LiveNote, LivePublisher } from '../core/ports/ports.ts'
import { partitionKeys, tagOf } from './keys.ts'
import type { Redis } from './redis/redis.ts'

/** What one publish says. */
export interface LiveWord {
  readonly sessionId: string
  readonly workerId: string
  readonly notes: readonly LiveNote[]
}

export type LiveListener = (word: LiveWord) => void

/** Publishes that Redis has not answered; beyond them it hangs, and what is said is dropped. */
const unansweredMax = 1_000

function channelOf(namespace: string, sessionId: string): string {
  return partitionKeys(tagOf(namespace, partitionOf(sessionId))).live(sessionId)
}

export class RedisLivePublisher implements LivePublisher {
  readonly #redis: Redis
  readonly #namespace: string

  /** `redis` is a connection from `openLossyRedis`. */
  constructor(redis: Redis, namespace: string) {
    this.#redis = redis
    this.#namespace = namespace
  }

  /** Never throws and never waits. */
  publish(sessionId: string, workerId: string, notes: readonly LiveNote[]): void {
    // Counted by the connection: what was under way when one was lost is never answered.
    if (notes.length === 0 || this.#redis.status !== 'ready' || this.#redis.commandQueue.length >= unansweredMax) return
    let text: string
    try {
      text = JSON.stringify({ worker: workerId, notes })
    } catch {
      // A tool may tell anything as its progress, a circle too.
      return
    }
    this.#redis.publish(channelOf(this.#namespace, sessionId), text).catch(() => {})
  }
}

/** The listening end: one connection, opened when the first one follows. */
export class LiveTail {
  readonly #open: () => Redis
  readonly #namespace: string
  readonly #listeners = new Map<string, { readonly sessionId: string; readonly all: Set<LiveListener> }>()
  #redis: Redis | undefined

  /** `open` gives a fresh connection, which then only subscribes. */
  constructor(open: () => Redis, namespace: string) {
    this.#open = open
    this.#namespace = namespace
  }

  /** Calls back for what is said of the session from now on; resolves when that is so. */
  async listen(sessionId: string, listener: LiveListener): Promise<void> {
    const channel = channelOf(this.#namespace, sessionId)
    const listeners = this.#listeners.get(channel)?.all ?? new Set()
    listeners.add(listener)
    this.#listeners.set(channel, { sessionId, all: listeners })
    // Also when others listen already: their subscription may still be on its way.
    await this.#connection().subscribe(channel)
  }

  unlisten(sessionId: string, listener: LiveListener): void {
    const channel = channelOf(this.#namespace, sessionId)
    const listeners = this.#listeners.get(channel)?.all
    if (!listeners?.delete(listener) || listeners.size > 0) return
    this.#listeners.delete(channel)
    this.#redis?.unsubscribe(channel).catch(() => {})
  }

  /** ioredis subscribes again by itself after a lost connection. */
  #connection(): Redis {
    if (this.#redis) return this.#redis
    this.#redis = this.#open()
    this.#redis.on('message', (channel: string, text: string) => this.#tell(channel, text))
    return this.#redis
  }

  #tell(channel: string, text: string): void {
    const listeners = this.#listeners.get(channel)
    const word = listeners && decodeWord(listeners.sessionId, text)
    if (!listeners || !word) return
    for (const listener of listeners.all) {
      try {
        listener(word)
      } catch {
        // A listener's failure is its own; it must not stop the others.
      }
    }
  }

  stop(): void {
    this.#listeners.clear()
    this.#redis?.disconnect()
  }
}

/** Null for what no publisher of ours says: anybody may write to a channel. */
function decodeWord(sessionId: string, text: string): LiveWord | null {
  try {
    const { worker, notes } = JSON.parse(text) as { worker: unknown; notes: unknown }
    if (typeof worker !== 'string' || !Array.isArray(notes)) return null
    return { sessionId, workerId: worker, notes: notes.filter(isLiveNote) }
  } catch {
    return null
  }
}

function isLiveNote(note: unknown): note is LiveNote {
  if (!Array.isArray(note)) return false
  const [type, details] = note as unknown[]
  return (transientTypes as readonly unknown[]).includes(type) && typeof details === 'object' && details !== null
}
