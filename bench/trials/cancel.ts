/**
 * Duty: measures how long code of users goes on after a cancel: from the acknowledged cancel of a run to the last abort signal in the twenty
 * workers below it, which all run.
 */
import { heldWorkers } from '../held-workers.ts'
import { cleanSlate } from '../measure/clean-slate.ts'
import { quantile } from '../measure/statistics.ts'
import { openBenchTroupe } from '../peers/troupe-runs.ts'
import type { Arena } from './arena.ts'
import type { Latency } from './idle-latency.ts'

const cancelsPerRepeat = 40
const warmUpCancels = 10
export const workersBelow = 20

export async function measureCancel(arena: Arena): Promise<Latency> {
  await cleanSlate(arena.redis)
  const troupe = await openBenchTroupe(arena.nextPlace())
  try {
    const sample = async () => {
      heldWorkers.reset()
      const cancel = await troupe.hold('holder', workersBelow)
      await heldWorkers.whenBegun(workersBelow)
      const lastAbort = heldWorkers.whenAborted(workersBelow)
      await cancel()
      const acknowledgedAt = performance.now()
      // An abort may come before the acknowledgement.
      return Math.max(0, (await lastAbort) - acknowledgedAt)
    }
    for (let taken = 0; taken < warmUpCancels; taken++) await sample()
    const ms: number[] = []
    for (let repeat = 1; repeat <= arena.repeats; repeat++) {
      arena.progress(`cancel: repeat ${repeat} of ${arena.repeats}`)
      for (let taken = 0; taken < cancelsPerRepeat; taken++) ms.push(await sample())
    }
    return { p50Ms: quantile(ms, 0.5), p99Ms: quantile(ms, 0.99) }
  } finally {
    await troupe.close()
  }
}
