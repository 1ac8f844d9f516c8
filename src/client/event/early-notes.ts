/**
 * Duty: keep what nodes tell of a session from its very beginning, until the first follower takes it. A session may end before anybody could begin to
 * follow it.
 * EARLY-1 It listens before the session is created, and for `keptMsMax` at most, if no follower comes.
 */
import type { LiveWord } from '../../store/event/live-channel.ts'
import type { EventHub } from './event-hub.ts'

/** A message, and when it arrived. */
export interface ReceivedNote extends LiveWord {
  readonly at: number
}

const wordsMax = 10_000
const keptMsMax = 30_000

export class EarlyNotes {
  readonly #hub: EventHub
  readonly #sessionId: string
  readonly #words: ReceivedNote[] = []
  #dropped = 0
  readonly #onWord = (word: LiveWord) => {
    if (this.#words.length < wordsMax) this.#words.push({ ...word, at: Date.now() })
    else this.#dropped += word.notes.length
  }
  #timer: NodeJS.Timeout | undefined

  private constructor(hub: EventHub, sessionId: string) {
    this.#hub = hub
    this.#sessionId = sessionId
  }

  /** Resolves once this listens and the nodes know of it. */
  static async open(hub: EventHub, sessionId: string): Promise<EarlyNotes> {
    const early = new EarlyNotes(hub, sessionId)
    await hub.listenLive(sessionId, early.#onWord)
    hub.announceLive(sessionId)
    early.#timer = setTimeout(() => early.take(), keptMsMax).unref()
    return early
  }

  /** How many notes were dropped after those that were kept. */
  get dropped(): number {
    return this.#dropped
  }

  /** Returns the notes that have arrived. From now on nothing is kept here. */
  take(): ReceivedNote[] {
    clearTimeout(this.#timer)
    this.#hub.unlistenLive(this.#sessionId, this.#onWord)
    return this.#words.splice(0)
  }
}
