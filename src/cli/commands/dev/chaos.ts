/**
 * Duty: kill the node of `troupe dev` at random moments, and say what was taken up again: the promise, made visible.
 * CHAOS-1 A node is killed only while it runs something, or seldom; and never before everything that the last kill interrupted has been taken
 *         up. So no worker is ever started twice without a commit because of it, and none is put aside.
 * CHAOS-2 The same seed gives the same pauses between kills. What runs at the moment of a kill is up to the machine.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Troupe } from '../../../client/client.ts'
import type { WorkerReport } from '../../../client/report.ts'
import type { ReloadedNode } from '../../host/child/reloaded-node.ts'
import type { DevReport } from './dev-report.ts'

const pauseMsMin = 3_000
const pauseMsMax = 12_000
/** A node that runs nothing is killed after this time, too. */
const restMsMax = 10_000
/** How often it looks whether the node runs something. */
const workEveryMs = 50
/** How often it looks whether interrupted workers go on. */
const lookEveryMs = 200
/** A lease ends after 15 s at most. Later than this something else holds the worker up, and doctor says what. */
const takenUpMsMax = 60_000
const workersMax = 1_000

export interface ChaosOptions {
  readonly seed: number
  readonly troupe: Troupe
  readonly node: ReloadedNode
  readonly report: DevReport
  readonly signal: AbortSignal
}

/** Runs until the signal fires. */
export async function chaos({ seed, troupe, node, report, signal }: ChaosOptions): Promise<void> {
  const random = randomOf(seed)
  for (;;) {
    await pause(pauseMsMin + random() * (pauseMsMax - pauseMsMin), signal)
    if (signal.aborted) return
    const running = await awaitWork({ troupe, node, signal })
    const { nodeId } = node
    if (nodeId === undefined || signal.aborted) continue
    // A worker that was interrupted before and has recorded nothing since is spared.
    if (running.some(({ starts }) => starts > 1)) continue
    const at = Date.now()
    const reloaded = node.kill()
    report.killed(nodeId, running)
    await reloaded
    await awaitTakenUp(running, at, { troupe, report, signal })
  }
}

/** What the node runs, once it runs something; nothing if it rests for long. */
async function awaitWork({ troupe, node, signal }: Pick<ChaosOptions, 'troupe' | 'node' | 'signal'>) {
  const until = Date.now() + restMsMax
  while (!signal.aborted && Date.now() < until) {
    const running = node.nodeId === undefined ? [] : await runningOn(node.nodeId, troupe).catch(() => [])
    if (running.length > 0) return running
    await pause(workEveryMs, signal)
  }
  return []
}

async function runningOn(nodeId: string, troupe: Troupe): Promise<WorkerReport[]> {
  const workers = await troupe.workers.list({ limit: workersMax })
  return workers.filter(({ node }) => node === nodeId)
}

async function awaitTakenUp(
  running: readonly WorkerReport[],
  at: number,
  { troupe, report, signal }: Pick<ChaosOptions, 'troupe' | 'report' | 'signal'>,
): Promise<void> {
  const open = new Map(running.map((worker) => [worker.id, worker]))
  while (open.size > 0 && !signal.aborted && Date.now() - at < takenUpMsMax) {
    await pause(lookEveryMs, signal)
    for (const [id, before] of open) {
      const now = await troupe.workers
        .get(id)
        .report()
        .catch(() => undefined)
      if (now === undefined || !goesOn(before, now)) continue
      open.delete(id)
      report.takenUp(now, Date.now() - at)
    }
  }
  for (const worker of open.values()) if (!signal.aborted) report.notTakenUp(worker)
}

/** True if another node runs the worker, or has brought it further. */
function goesOn(before: WorkerReport, now: WorkerReport): boolean {
  return (
    (now.node !== null && now.node !== before.node) ||
    now.historyLength > before.historyLength ||
    now.runs > before.runs
  )
}

/** Numbers from 0 to 1, the same for the same seed (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

/** Ends early when the signal fires. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await sleep(ms, undefined, { signal }).catch(() => {})
}
