/**
 * Duty: name user code that blocks the event loop of its node. While the loop is blocked, the node renews no lease and runs nothing else.
 * Without this warning the log shows only that leases were lost: it names no culprit, and a reader may blame Redis.
 * This file measures a call until it returns or first awaits. The renewer logs every other standstill of the loop (RENEW-4).
 */
import { performance } from 'node:perf_hooks'
import type { WorkerLog } from '../../core/definition/worker-log.ts'

const advice = 'let what computes run in a thread (a tool does with its field `thread`), or pause between its parts'

/** Calls the function, and warns if it takes longer than `msMax` to return. `what` names it in the warning. */
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
