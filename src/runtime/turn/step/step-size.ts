/**
 * Duty: how much of Redis a step takes. Its parts are weighed by what they cost there, and its bytes count as parts, so that a step which has much of
 * both costs no more than one that has the most of one. A commit holds no more than one `receive` may ask for (`stepPartsMax`): so it holds Redis for
 * less than 10 ms (docs/decisions/0044-what-one-commit-may-hold.md).
 */
import { policy } from '../../../core/policy.ts'
import type { Step } from './step.ts'

export type Parts = Readonly<Record<'spawns' | 'sends' | 'timers' | 'asks', readonly unknown[]>> &
  Partial<Pick<Step, 'withdraws'>>

/**
 * Timers are cheap, because one command writes hundreds of them. A child and an ask have keys of their own; for a message, much of its recipient is
 * read as well.
 */
const weights = { timer: 3, spawn: 5, ask: 6, send: 12 } as const

export type Part = keyof typeof weights

/** This many such parts fill a commit, if nothing else is in it. */
export function partsMost(part: Part): number {
  return Math.floor(policy.stepPartsMax / weights[part])
}

/** What costs Redis: how many parts, what they weigh together, and the bytes of all that is passed. */
export interface Size {
  readonly count: number
  readonly weight: number
  readonly bytes: number
}

export function sizeOf({ spawns, sends, timers, asks, withdraws = [] }: Parts, bytes: number): Size {
  const askCount = asks.length + withdraws.length
  const count = timers.length + spawns.length + sends.length + askCount
  const children = timers.length * weights.timer + spawns.length * weights.spawn
  return { count, weight: children + sends.length * weights.send + askCount * weights.ask, bytes }
}

/** With so many more of this part. */
export function withMore({ count, weight, bytes }: Size, part: Part, more = 1): Size {
  return { count: count + more, weight: weight + more * weights[part], bytes }
}

/** The bytes of a small value are no burden beside what writes it. */
const smallBytes = 100

/** Is so much within the limit of one commit? */
export function fitsCommit({ count, weight, bytes }: Size): boolean {
  const counted = Math.max(0, bytes - count * smallBytes)
  return weight + (counted * policy.stepPartsMax) / policy.stepBytesMax <= policy.stepPartsMax
}

/** About how many bytes the step has: text that is not ASCII has more. */
export function bytesIn(step: Step): number {
  let bytes = (step.stateJson?.length ?? 0) + (step.result?.length ?? 0)
  for (const entry of step.entries) bytes += entry.length
  // A commit holds permissions that siblings share only once.
  let permissions: string | undefined
  for (const spawn of step.spawns) {
    bytes += spawn.mail.length
    if (spawn.permissions !== permissions) bytes += spawn.permissions?.length ?? 0
    permissions = spawn.permissions
  }
  for (const send of step.sends) bytes += send.mail.length
  for (const timer of step.timers) bytes += timer.valueJson.length
  for (const ask of step.asks) bytes += ask.body.length + (ask.expiry?.answer.length ?? 0)
  return bytes
}
