/** Duty: the port of live events, which the store publishes for turns. */
import type { TransientType } from '../event/event.ts'

/** Publishes transient events to those who follow now: states, text as it streams, tools and their progress. Losing one is harmless. */
export interface LivePublisher {
  /** True if somebody follows the session, as far as this node knows. It costs no command. */
  isFollowed(sessionId: string): boolean
  /** `isRepeat`: notes that a follower which came late has missed. Followers that have them already drop them. */
  publish(sessionId: string, workerId: string, notes: readonly LiveNote[], options?: { isRepeat?: boolean }): void
}

export type LiveNote = readonly [type: TransientType, details: Readonly<Record<string, unknown>>]
