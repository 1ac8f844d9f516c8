/**
 * Duty: what is transient (states of workers, text as it streams, tools and their progress, log lines), from the node that runs a worker to
 * those who follow now, by pub/sub.
 * CHANNEL-1 Losing a note is harmless and costs nothing: while Redis is away, or does not answer, notes are dropped, never queued.
 * CHANNEL-2 No note arrives twice: publishers use a connection that sends no command again.
 * CHANNEL-3 Only followers pay: a process subscribes to a session only while somebody in it follows that session, and nodes publish only while
 *           somebody does (followed-sessions.ts).
 * CHANNEL-4 No secret that the publishing process knows is published.
 */
import { performance } from 'node:perf_hooks'
import { transientTypes } from '../../core/event/event.ts'
import { partitionOf } from '../../core/ids.ts'
import type { LiveNote, LivePublisher } from '../../core/ports/live.ts'
import { jsonWithoutKnownSecrets } from '../../core/secret/known-secrets.ts'
import { sessionChannels, tagOf } from '../keys.ts'
import type { Redis } from '../redis/redis.ts'
import { announceAgainMs, announceEveryMs, FollowedSessions } from './followed-sessions.ts'

/** One message on the channel. */
export interface LiveWord {
  readonly sessionId: string
  readonly workerId: string
  readonly notes: readonly LiveNote[]
  /** It repeats what was published before, for followers that came late. */
  readonly isRepeat?: true
}

/** Gets each word, and about how many bytes it has. */
export type LiveListener = (word: LiveWord, bytes?: number) => void

/** Tells the nodes that somebody follows. Resolves with whether any node received it. Must not reject. */
export type Announce = (sessionId: string, isNew: boolean) => Promise<boolean>

interface Listened {
  readonly sessionId: string
  readonly all: Set<LiveListener>
  announcedAt: number | undefined
  /** Somebody began to listen since the last announcement that a node received. */
  isNew: boolean
}

/** Publishes that Redis has not answered; beyond them it hangs, and what is said is dropped. */
const unansweredMax = 1_000

function channelOf(namespace: string, sessionId: string): string {
  return sessionChannels(tagOf(namespace, partitionOf(sessionId)), sessionId).live
}

export class RedisLivePublisher implements LivePublisher {
  readonly #at: (channel: string) => Redis
  readonly #namespace: string
  /** The sessions that followers have announced to this node. */
  readonly followed = new FollowedSessions()

  /** `at` gives the connection to where a channel is, one from `openLossyRedis`. */
  constructor(at: (channel: string) => Redis, namespace: string) {
    this.#at = at
    this.#namespace = namespace
  }

  isFollowed(sessionId: string): boolean {
    return this.followed.has(sessionId)
  }

  /** Never throws and never waits. */
  publish(
    sessionId: string,
    workerId: string,
    notes: readonly LiveNote[],
    { isRepeat = false }: { isRepeat?: boolean } = {},
  ): void {
    if (notes.length === 0) return
    const channel = channelOf(this.#namespace, sessionId)
    const redis = this.#at(channel)
    // Counted by the connection: what was under way when one was lost is never answered.
    if (redis.status !== 'ready' || redis.commandQueue.length >= unansweredMax) return
    let text: string
    try {
      text = jsonWithoutKnownSecrets(JSON.stringify({ worker: workerId, notes, ...(isRepeat && { isRepeat }) }))
    } catch {
      // A tool may report anything as its progress, even an object that contains itself.
      return
    }
    redis.publish(channel, text).catch(() => {})
  }
}

/** The listening end: one connection, opened when the first one follows. */
export class LiveTail {
  readonly #open: () => Redis
  readonly #namespace: string
  readonly #announce: Announce
  readonly #listeners = new Map<string, Listened>()
  #redis: Redis | undefined
  #announcing: NodeJS.Timeout | undefined

  /** `open` gives a fresh connection, which then only subscribes. `announce` tells the nodes that somebody follows. */
  constructor(open: () => Redis, namespace: string, announce: Announce = async () => true) {
    this.#open = open
    this.#namespace = namespace
    this.#announce = announce
  }

  /** Asks the nodes to publish what their turns do now, and from now on as long as somebody listens. This process must listen already. */
  announce(sessionId: string): void {
    const listened = this.#listeners.get(channelOf(this.#namespace, sessionId))
    if (listened === undefined) return
    listened.isNew = true
    void this.#announceNow(listened)
    this.#announcing ??= setInterval(() => this.#announceAgain(), announceAgainMs).unref()
  }

  async #announceNow(listened: Listened): Promise<void> {
    const { isNew, sessionId } = listened
    listened.announcedAt = performance.now()
    listened.isNew = false
    if (!(await this.#announce(sessionId, isNew))) listened.isNew = true
  }

  #announceAgain(): void {
    const now = performance.now()
    for (const listened of this.#listeners.values()) {
      const { isNew, announcedAt } = listened
      if (announcedAt !== undefined && now - announcedAt >= (isNew ? announceAgainMs : announceEveryMs))
        void this.#announceNow(listened)
    }
  }

  /** Calls the listener for each message about the session from now on; resolves once the subscription holds. */
  async listen(sessionId: string, listener: LiveListener): Promise<void> {
    const channel = channelOf(this.#namespace, sessionId)
    const listened = this.#listeners.get(channel) ?? { sessionId, all: new Set(), announcedAt: undefined, isNew: false }
    listened.all.add(listener)
    this.#listeners.set(channel, listened)
    // Also when others listen already: their subscription may still be on its way.
    await this.#connection().subscribe(channel)
    // If it was announced before, what nodes repeated may have come too early.
    if (listened.announcedAt !== undefined) listened.isNew = true
  }

  unlisten(sessionId: string, listener: LiveListener): void {
    const channel = channelOf(this.#namespace, sessionId)
    const listeners = this.#listeners.get(channel)?.all
    if (!listeners?.delete(listener) || listeners.size > 0) return
    this.#listeners.delete(channel)
    this.#redis?.unsubscribe(channel).catch(() => {})
    if (this.#listeners.size === 0) this.#stopAnnouncing()
  }

  #stopAnnouncing(): void {
    clearInterval(this.#announcing)
    this.#announcing = undefined
  }

  /** ioredis subscribes again by itself after a lost connection. */
  #connection(): Redis {
    if (this.#redis) return this.#redis
    this.#redis = this.#open()
    this.#redis.on('message', (channel: string, text: string) => this.#tell(channel, text))
    // After a lost connection something was missed.
    this.#redis.on('ready', () => {
      for (const listened of this.#listeners.values()) listened.isNew = true
    })
    return this.#redis
  }

  #tell(channel: string, text: string): void {
    const listeners = this.#listeners.get(channel)
    const word = listeners && decodeWord(listeners.sessionId, text)
    if (!listeners || !word) return
    for (const listener of listeners.all) {
      try {
        listener(word, text.length)
      } catch {
        // A listener's failure is its own; it must not stop the others.
      }
    }
  }

  stop(): void {
    this.#stopAnnouncing()
    this.#listeners.clear()
    this.#redis?.disconnect()
  }
}

/** Null for what no publisher of ours says: anybody may write to a channel. */
function decodeWord(sessionId: string, text: string): LiveWord | null {
  try {
    const { worker, notes, isRepeat } = JSON.parse(text) as Readonly<Record<string, unknown>>
    if (typeof worker !== 'string' || !Array.isArray(notes)) return null
    return { sessionId, workerId: worker, notes: notes.filter(isLiveNote), ...(isRepeat === true && { isRepeat }) }
  } catch {
    return null
  }
}

function isLiveNote(note: unknown): note is LiveNote {
  if (!Array.isArray(note)) return false
  const [type, details] = note as unknown[]
  return (transientTypes as readonly unknown[]).includes(type) && typeof details === 'object' && details !== null
}
