/**
 * Duty: how much work a step makes for Redis: its parts, weighed by what each costs there, and its bytes. A commit holds no more than one `receive`
 * may ask for (`stepPartsMax`, `stepBytesMax`), so it holds Redis for about 10 ms at most (docs/decisions/0044-what-one-commit-may-hold.md).
 */
import { policy } from '../../../core/policy.ts'
import type { Step } from './step.ts'

export type Parts = Readonly<Record<'spawns' | 'sends' | 'timers' | 'asks', readonly unknown[]>> &
  Partial<Pick<Step, 'withdraws'>>

/**
 * Timers are cheap, because one command writes hundreds of them. A child and an ask have keys of their own; for a message, much of its recipient is
 * read as well.
 */
const weights = { timer: 2, spawn: 5, ask: 5, send: 10 } as const

export type Part = keyof typeof weights

/** This many such parts fill a commit, if nothing else is in it. */
export function partsMost(part: Part): number {
  return Math.floor(policy.stepPartsMax / weights[part])
}

export function partsIn({ spawns, sends, timers, asks, withdraws = [] }: Parts): number {
  const own = timers.length * weights.timer + spawns.length * weights.spawn + sends.length * weights.send
  return own + (asks.length + withdraws.length) * weights.ask
}

/** Is there room for one more part of this kind? */
export function hasRoomFor(part: Part, parts: Parts): boolean {
  return partsIn(parts) + weights[part] <= policy.stepPartsMax
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
