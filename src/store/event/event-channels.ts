/**
 * Duty: what scripts report of the sessions that somebody in this process follows or waits for, as they publish it: over one connection, opened
 * for the first of them.
 * EVENT-CHANNEL-1 A process receives only what is reported of its own sessions, whatever else goes on in their partitions; of sessions whose results
 *    it waits for, or that it created, only the ends.
 * EVENT-CHANNEL-2 Messages may be lost: with a connection, or where the user may not subscribe. When messages come again, `onGap` is called; whoever
 *    must know the events then reads the stream (event-pages.ts).
 * EVENT-CHANNEL-3 A message that arrives between a lost connection and `onGap` is not passed on: whoever got it would take the lost ones before it
 *    for old. It is in the stream, which is read after `onGap`.
 */
import { isId } from '../../core/ids.ts'
import { guarded } from '../redis/guarded.ts'
import { closeRedis, type Redis } from '../redis/redis.ts'
import type { EventEntry } from '../script/replies.ts'

/**
 * events: all that is reported of a session. ends: what may tell that a run of its root has ended. created: the same of all jobs that the client of
 * this session created; that channel is never left.
 */
export type Subject = 'events' | 'ends' | 'created'

export interface EventChannelsOptions {
  /** Opens a new connection, which then only subscribes. */
  readonly open: () => Redis
  readonly channelOf: (sessionId: string, subject: Subject) => string
  /** How long a subscription may take. */
  readonly deadlineMs: number
  /** What one script reported of one session. Must not throw. */
  readonly onEvents: (sessionId: string, id: string, entries: readonly EventEntry[]) => void
  /** What may tell that a run of the root of this session has ended. Must not throw. */
  readonly onEnd: (sessionId: string, notes: string) => void
  /** Called when messages arrive again after some may have been lost. */
  readonly onGap: () => void
}

/** Channels that nobody needs any more are left together. */
const leaveMs = 100
const leaveMost = 64

const unknownCommand = /unknown command/i

interface Listened {
  readonly sessionId: string
  readonly subject: Subject
  readonly listening: Promise<boolean>
  /** It listens. */
  hears: boolean
}

export class EventChannels {
  readonly #o: EventChannelsOptions
  /** By channel. */
  readonly #listened = new Map<string, Listened>()
  /** The channels that are subscribed to together when this pass of the event loop ends. */
  #joining: { readonly channels: string[]; readonly joined: Promise<boolean> } | undefined
  #leaving: string[] = []
  #timer: NodeJS.Timeout | undefined
  #redis: Redis | undefined
  /** Before Redis 7.0 there are no sharded channels, and scripts publish on the others. */
  #isSharded = true
  #wasReady = false
  /** The connection was lost, and it is not known yet that messages of all channels arrive again. */
  #hasGap = false

  constructor(options: EventChannelsOptions) {
    this.#o = options
  }

  /** True once the connection was opened: a further session opens no new one. */
  get isOpen(): boolean {
    return this.#wasReady
  }

  /** True while messages arrive over that connection: whoever begins to listen needs one round trip. */
  get isReady(): boolean {
    return this.#redis?.status === 'ready' && !this.#hasGap
  }

  /** True if this process listens to the session already. */
  hears(sessionId: string, subject: Subject): boolean {
    return this.#listened.get(this.#o.channelOf(sessionId, subject))?.hears ?? false
  }

  /**
   * Resolves with true once this process listens to the session, and with false if the Redis user may not subscribe. Throws a TransientError if it
   * does not within the deadline: then it does not listen.
   */
  listen(sessionId: string, subject: Subject): Promise<boolean> {
    const channel = this.#o.channelOf(sessionId, subject)
    const listened = this.#listened.get(channel)
    if (listened) return listened.listening
    const listening = this.#begin(channel, () => this.#listened.get(channel) === begun)
    const begun: Listened = { sessionId, subject, listening, hears: false }
    this.#listened.set(channel, begun)
    const heard = (hears: boolean) => {
      begun.hears = hears
    }
    listening.then(heard, () => {})
    return listening
  }

  /** `isWanted`: nobody has left the channel meanwhile, or joined it once more. */
  async #begin(channel: string, isWanted: () => boolean): Promise<boolean> {
    this.#leaving = this.#leaving.filter((one) => one !== channel)
    try {
      return await this.#join(channel)
    } catch (error) {
      if (isWanted()) this.#listened.delete(channel)
      if (this.#listened.size === 0) {
        this.#wasReady = false
        this.#close()
      }
      throw error
    }
  }

  #join(channel: string): Promise<boolean> {
    this.#joining ??= this.#beginJoining()
    const { channels, joined } = this.#joining
    channels.push(channel)
    return joined
  }

  #beginJoining() {
    const redis = this.#connection()
    const channels: string[] = []
    const joined = Promise.resolve().then(() => {
      this.#joining = undefined
      return guarded('listening to events', () => this.#subscribe(redis, channels), this.#o.deadlineMs)
    })
    return { channels, joined }
  }

  async #subscribe(redis: Redis, channels: readonly string[]): Promise<boolean> {
    try {
      if (this.#isSharded) await redis.ssubscribe(...channels)
      else await redis.subscribe(...channels)
    } catch (error) {
      const reason = error instanceof Error ? error.message : ''
      // Without the right to subscribe, those who wait look at records, and those who follow at the stream.
      if (reason.startsWith('NOPERM')) return false
      if (!this.#isSharded || !unknownCommand.test(reason)) throw error
      this.#isSharded = false
      await redis.subscribe(...channels)
    }
    return true
  }

  unlisten(sessionId: string, subject: Subject): void {
    const channel = this.#o.channelOf(sessionId, subject)
    if (!this.#listened.delete(channel)) return
    this.#leaving.push(channel)
    if (this.#leaving.length >= leaveMost) this.#leave()
    else this.#timer ??= setTimeout(() => this.#leave(), leaveMs).unref()
  }

  #leave(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#leaving.length === 0) return
    if (this.#redis?.status !== 'ready') {
      // If they were left now, ioredis would subscribe to them again once it is connected.
      this.#timer = setTimeout(() => this.#leave(), leaveMs).unref()
      return
    }
    const channels = this.#leaving.splice(0)
    const left = this.#isSharded ? this.#redis.sunsubscribe(...channels) : this.#redis.unsubscribe(...channels)
    left.catch(() => {})
  }

  /** Resolves once everything has arrived that was published before. */
  async settled(): Promise<void> {
    await guarded('listening to events', async () => this.#redis?.ping(), this.#o.deadlineMs)
  }

  #connection(): Redis {
    if (this.#redis) return this.#redis
    const redis = this.#o.open()
    this.#redis = redis
    redis.on('smessage', (channel: string, text: string) => this.#receive(channel, text))
    redis.on('message', (channel: string, text: string) => this.#receive(channel, text))
    redis.on('ready', () => {
      if (this.#wasReady) void this.#goOn(redis)
      this.#wasReady = true
    })
    return redis
  }

  /** ioredis subscribes again by itself; this tells when it is done. */
  async #goOn(redis: Redis): Promise<void> {
    const channels = [...this.#listened.keys()]
    this.#hasGap = channels.length > 0
    if (!this.#hasGap) return
    try {
      await this.#subscribe(redis, channels)
    } catch {
      // The connection has failed too, and the next one calls this again.
      if (redis.status !== 'ready') return
    }
    this.#hasGap = false
    this.#o.onGap()
  }

  #receive(channel: string, text: string): void {
    const listened = this.#listened.get(channel)
    if (listened === undefined || this.#hasGap) return
    const { sessionId, subject } = listened
    const [id = '', ...lines] = text.split('\n')
    const entries: EventEntry[] = []
    for (let line = 0; line + 2 < lines.length; line += 3) {
      const [part, who, notes] = lines.slice(line, line + 3) as [string, string, string]
      // Anybody may write to a channel.
      if (who !== '' && !isId(who)) return
      if (subject !== 'events') this.#o.onEnd(who, notes)
      else entries.push({ id, part: Number(part), about: who === '' ? sessionId : `${sessionId} ${who}`, notes })
    }
    if (subject === 'events') this.#o.onEvents(sessionId, id, entries)
  }

  #close(): void {
    if (this.#redis) closeRedis(this.#redis)
    this.#redis = undefined
    this.#hasGap = false
    this.#leaving = []
  }

  stop(): void {
    clearTimeout(this.#timer)
    this.#close()
  }
}
