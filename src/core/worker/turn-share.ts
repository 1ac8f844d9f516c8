/**
 * Duty: define what share of the slots a session gets beside others, and how far in front of them its workers stand.
 * Owns: the two numbers, their bounds, and their form in the record of the root. Does not own: places in run queues (store/lua/shared/queue/run-queues.lua).
 * TURN-SHARE-1 A session that says nothing has weight 1 and priority 0, and its record has no field for them.
 */
import { type Rules, wholeNumberRule } from '../check/check-options.ts'

export interface TurnShare {
  /**
   * Beside sessions that have work waiting all the time, one of weight 3 gets three times the slot time of one of weight 1. 1 to 1 000;
   * default 1. Its children share it.
   */
  readonly weight: number
  /**
   * Whose turn is first when slots become free. Each level is as if the session had come a second of slot time earlier; it gets no larger share
   * by it. 0 to 9; default 0.
   */
  readonly priority: number
}

/** The two numbers as callers give them. */
export type GivenTurnShare = { readonly [Name in keyof TurnShare]?: TurnShare[Name] | undefined }

export const defaultTurnShare: TurnShare = { weight: 1, priority: 0 }

export const turnShareRules: Rules<GivenTurnShare> = {
  weight: wholeNumberRule(1, 1000),
  priority: wholeNumberRule(0, 9),
}

/** `<weight> <priority>`. store/lua/shared/queue/run-queues.lua reads the same form. */
export const turnShareForm = /^(\d+) (\d+)$/

export function encodeTurnShare({ weight = 1, priority = 0 }: GivenTurnShare): string {
  return `${weight} ${priority}`
}

export function decodeTurnShare(text: string): TurnShare {
  const [, weight, priority] = turnShareForm.exec(text) ?? []
  return weight === undefined ? defaultTurnShare : { weight: Number(weight), priority: Number(priority) }
}
