/** Duty: the port of live events, which the store publishes for turns. */
import type { TransientType } from '../event/event.ts'

/** What is told to those who follow now, and never stored: states, text as it streams, tools and their progress. Losing it is harmless. */
export interface LivePublisher {
  /** Somebody follows the session, as far as this node knows. It costs no command. */
  isFollowed(sessionId: string): boolean
  /** `isRepeat`: what a follower that came late has missed. Those who have it already drop it. */
  publish(sessionId: string, workerId: string, notes: readonly LiveNote[], options?: { isRepeat?: boolean }): void
}

export type LiveNote = readonly [type: TransientType, details: Readonly<Record<string, unknown>>]
