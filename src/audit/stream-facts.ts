/**
 * Duty: read from the streams which sessions were created and ended, how many messages each worker accepted from outside, and how many of them
 * became dead letters.
 * STREAMS-1 A stream is trimmed at its beginning. So if the creation of a session is in the stream, all its events are.
 */
import { rootIdOf } from '../core/ids.ts'
import { policy } from '../core/policy.ts'
import type { AuditStore } from '../store/audit/audit-store.ts'
import { eventsOf } from '../store/script/replies.ts'

export class StreamFacts {
  readonly #store: AuditStore
  readonly #accepted = new Map<string, number>()
  readonly #created = new Set<string>()
  /** Sessions that are copies: the streams tell nothing of what they had before. */
  readonly #forked = new Set<string>()
  readonly #ended = new Set<string>()
  #dead = new Map<string, number>()
  #isDeadWhole = true
  #after: string

  /** `since`: events before this time, in ms, are not read. */
  constructor(store: AuditStore, since: number) {
    this.#store = store
    this.#after = `${Math.max(0, since)}-0`
  }

  /** Reads the events since the last call, and all dead letters. */
  async catchUp(): Promise<void> {
    for (let next: string | null = this.#after; next !== null; ) {
      const page = await this.#store.events(next)
      for (const entry of page.items) {
        this.#after = entry.id
        for (const { type, sessionId, workerId, details, ended } of eventsOf(entry)) {
          if (type === 'session.created') {
            this.#created.add(sessionId)
            if (details.forkedFrom !== undefined) this.#forked.add(sessionId)
            else if (details.rests !== true) this.#accept(rootIdOf(sessionId))
          } else if (ended) this.#ended.add(sessionId)
          else if (type === 'message.accepted' && (details.kind === 'input' || details.kind === 'order'))
            this.#accept(workerId)
        }
      }
      next = page.next
    }
    await this.#readDead()
  }

  #accept(workerId: string): void {
    this.#accepted.set(workerId, (this.#accepted.get(workerId) ?? 0) + 1)
  }

  async #readDead(): Promise<void> {
    const dead = new Map<string, number>()
    let length = 0
    let isRead = true
    for (let next: string | null = '0-0'; next !== null; ) {
      const page = await this.#store.deadLetters(next)
      length += page.items.length
      isRead = page.isRead !== false
      for (const { fields } of page.items) {
        // A letter without a message only holds evidence.
        if (fields.mail === undefined) continue
        const worker = fields.worker ?? ''
        dead.set(worker, (dead.get(worker) ?? 0) + 1)
      }
      next = page.next
    }
    this.#dead = dead
    // Below its limit the stream was never trimmed.
    this.#isDeadWhole = isRead && length < policy.deadLettersKept
  }

  /** How many messages from outside this worker accepted, including the first of a session. Null if the stream no longer has all of them. */
  accepted(sessionId: string, workerId: string): number | null {
    return this.#created.has(sessionId) && !this.#forked.has(sessionId) ? (this.#accepted.get(workerId) ?? 0) : null
  }

  /** Sessions whose creation is in the stream. */
  get created(): readonly string[] {
    return [...this.#created]
  }

  wasCreated(sessionId: string): boolean {
    return this.#created.has(sessionId)
  }

  hasEnded(sessionId: string): boolean {
    return this.#ended.has(sessionId)
  }

  /** How many dead letters it has. Null if some were trimmed. */
  dead(workerId: string): number | null {
    return this.#isDeadWhole ? (this.#dead.get(workerId) ?? 0) : null
  }
}
