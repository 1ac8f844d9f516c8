/**
 * Duty: code of an author that keeps the event loop of its node to itself is named. No lease is renewed meanwhile, and nothing else goes
 * on: what is seen of it later, a lease that was lost, says neither who it was nor that nothing was wrong with Redis.
 * Only what runs without a pause from its call is seen here; the renewer tells of any standstill (RENEW-4).
 */
import { performance } from 'node:perf_hooks'
import type { WorkerLog } from '../../core/definition/worker-log.ts'

const advice = 'let what computes run in a thread (a tool does with its field `thread`), or pause between its parts'

/** Calls it. `what` did, if it takes longer than this. */
export function watchLoop<T>(call: () => T, what: string, msMax: number, log: Pick<WorkerLog, 'warn'>): T {
  const began = performance.now()
  try {
    return call()
  } finally {
    const ms = performance.now() - began
    if (ms > msMax) log.warn(`${what} kept the event loop of its node to itself for ${seconds(ms)}: ${advice}`)
  }
}

export function standstillText(ms: number): string {
  return `the event loop of this node stood still for ${seconds(ms)}, and no lease was renewed. Unless its process was stopped: ${advice}`
}

function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`
}
