/**
 * Duty: how much of Redis a step takes. Its parts are weighed by what they cost there. Its bytes count as parts, so parts and bytes share one limit.
 * A commit holds no more than one `receive` may ask for (`stepPartsMax`): so it holds Redis for less than 10 ms
 * (docs/decisions/0044-what-one-commit-may-hold.md).
 */
import { policy } from '../../../core/policy.ts'
import type { Step } from './step.ts'

export type Parts = Readonly<Record<'spawns' | 'sends' | 'timers' | 'asks', readonly unknown[]>> &
  Partial<Pick<Step, 'withdraws'>>

/**
 * Timers are cheap, because one command writes hundreds of them. A child and an ask have keys of their own; for a message, much of its recipient is
 * read as well.
 */
const weights = { timer: 4, ask: 8, spawn: 12, send: 20 } as const

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
  const weight =
    timers.length * weights.timer + spawns.length * weights.spawn + sends.length * weights.send + askCount * weights.ask
  return { count, weight, bytes }
}

/** With this many more of this part. */
export function withMore({ count, weight, bytes }: Size, part: Part, more = 1): Size {
  return { count: count + more, weight: weight + more * weights[part], bytes }
}

/** This many bytes of each part are free: they cost Redis little beside the part itself. */
const smallBytes = 100

/** Is this size within the limit of one commit? */
export function fitsCommit({ count, weight, bytes }: Size): boolean {
  const counted = Math.max(0, bytes - count * smallBytes)
  return weight + (counted * policy.stepPartsMax) / policy.stepBytesMax <= policy.stepPartsMax
}

/** For a short text its length is enough, although characters beyond ASCII have more bytes. */
function bytesOf(text: string | undefined): number {
  if (text === undefined) return 0
  return text.length < 1_000 ? text.length : Buffer.byteLength(text)
}

/** About how many bytes the step has. */
export function bytesIn(step: Step): number {
  let bytes = bytesOf(step.stateJson) + bytesOf(step.result)
  for (const entry of step.entries) bytes += bytesOf(entry)
  // A commit holds permissions that siblings share only once.
  let permissions: string | undefined
  for (const spawn of step.spawns) {
    bytes += bytesOf(spawn.mail)
    if (spawn.permissions !== permissions) bytes += bytesOf(spawn.permissions)
    permissions = spawn.permissions
  }
  for (const send of step.sends) bytes += bytesOf(send.mail)
  for (const timer of step.timers) bytes += bytesOf(timer.valueJson)
  for (const ask of step.asks) bytes += bytesOf(ask.body) + bytesOf(ask.expiry?.answer)
  return bytes
}
