/**
 * Duty: tickets, for programs that can send no header with a stream (EventSource of a browser).
 * TICKETS-1 A ticket opens one address once, within 30 s. So what a log or a history keeps of an address is worth nothing.
 */
import { randomBytes } from 'node:crypto'
import type { Caller } from './rights.ts'

const ticketMs = 30_000
/** How many tickets all callers together may have. The oldest goes first. */
const ticketsMax = 10_000

interface Ticket {
  readonly caller: Caller
  readonly path: string
  readonly until: number
}

export class Tickets {
  readonly #open = new Map<string, Ticket>()

  /** `path`: the address without a query that it opens. */
  give(caller: Caller, path: string, now = Date.now()): { readonly ticket: string; readonly expiresAt: number } {
    const ticket = randomBytes(32).toString('base64url')
    const until = now + ticketMs
    this.#open.set(ticket, { caller, path, until })
    for (const [oldest] of this.#open) {
      if (this.#open.size <= ticketsMax) break
      this.#open.delete(oldest)
    }
    return { ticket, expiresAt: until }
  }

  /** Undefined for a ticket that is unknown, used, too old, or of another address. */
  take(ticket: string, path: string, now = Date.now()): Caller | undefined {
    const found = this.#open.get(ticket)
    this.#open.delete(ticket)
    return found !== undefined && found.path === path && found.until >= now ? found.caller : undefined
  }
}
