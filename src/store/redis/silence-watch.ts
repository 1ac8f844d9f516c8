/**
 * Duty: reopens connections that were lost silently, because a host lost power, an address moved or a network forgot them. TCP would wait
 * for a quarter of an hour, or for ever if a proxy answers for the other end. One timer looks at all connections of a process; a command
 * costs nothing.
 * SILENCE-1 A connection that owes an answer and received no byte for `lostAfterMs` is ended; ioredis opens it again. Every byte counts,
 *    so that a slow answer is not taken for a missing one, and a Redis that is frozen or busy for less than that is not given up. While BullMQ
 *    waits for a job, the answer may be missing for as long as it said.
 * SILENCE-2 A connection that owes nothing gets a PING after `askAfterMs`, because a connection that only listens may be lost too.
 * SILENCE-3 Time in which this process only computed does not count: an answer may have arrived that no code could read.
 */
import { performance } from 'node:perf_hooks'
import type { Redis } from 'ioredis'
import { type SwapItem, SwapList } from '../../core/swap-list.ts'

interface Patience {
  readonly lookEveryMs: number
  readonly askAfterMs: number
  readonly lostAfterMs: number
}

const patience: Patience = { lookEveryMs: 1_000, askAfterMs: 5_000, lostAfterMs: 15_000 }

interface Watched extends SwapItem {
  readonly redis: Redis
  /** How many bytes had come at the last look. */
  bytesSeen: number
  silentMs: number
}

export class SilenceWatch {
  readonly #patience: Patience
  readonly #connected = new SwapList<Watched>()
  #timer: NodeJS.Timeout | undefined
  #lookedAt = 0

  constructor(settings: Patience = patience) {
    this.#patience = settings
  }

  /** Watches the connection from its next connect on. */
  watch(redis: Redis): void {
    const watched: Watched = { redis, bytesSeen: 0, silentMs: 0, index: -1 }
    redis.on('connect', () => {
      watched.silentMs = 0
      this.#connected.add(watched)
      if (this.#timer === undefined) this.#begin()
    })
    redis.on('close', () => this.#connected.remove(watched))
  }

  #begin(): void {
    this.#lookedAt = performance.now()
    this.#timer = setInterval(() => this.#lookAtAll(), this.#patience.lookEveryMs).unref()
  }

  #lookAtAll(): void {
    const now = performance.now()
    const passedMs = Math.min(now - this.#lookedAt, 2 * this.#patience.lookEveryMs)
    this.#lookedAt = now
    for (const watched of this.#connected.list()) this.#look(watched, passedMs)
    if (this.#connected.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  #look(watched: Watched, passedMs: number): void {
    const { redis, bytesSeen } = watched
    const { stream, commandQueue, status } = redis
    watched.bytesSeen = stream.bytesRead
    watched.silentMs = watched.bytesSeen === bytesSeen ? watched.silentMs + passedMs : 0
    const { askAfterMs, lostAfterMs } = this.#patience
    if (commandQueue.length > 0) {
      if (watched.silentMs >= lostAfterMs + blockMs(redis))
        stream.destroy(new Error(`nothing came from Redis for ${lostAfterMs} ms`))
    } else if (watched.silentMs >= askAfterMs && status === 'ready') {
      redis.ping().catch(() => {})
    }
  }
}

/** How long the command that is answered next may block, as BullMQ sends it. */
function blockMs({ commandQueue }: Redis): number {
  const { name, args } = (commandQueue as Queue).peekFront()?.command ?? {}
  const seconds = name?.toLowerCase() === 'bzpopmin' ? Number(args?.at(-1)) : 0
  return Number.isFinite(seconds) ? seconds * 1_000 : 0
}

interface Queue {
  peekFront(): { readonly command: { readonly name: string; readonly args: readonly unknown[] } } | undefined
}
