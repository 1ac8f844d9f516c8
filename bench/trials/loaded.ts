/**
 * Duty: measures agent runs and trees while every core of the machine has another busy process (P8). It shows which
 * contestant is ahead when there is more work than CPU. The rounds are those of trials/throughput.ts.
 */
import type { Contestant } from '../contestant.ts'
import { BusyCores } from '../measure/busy-cores.ts'
import type { Arena } from './arena.ts'
import { measureThroughput, type Windows } from './throughput.ts'

export async function measureLoaded(contestants: readonly Contestant[], arena: Arena): Promise<Windows> {
  if (contestants.length === 0) return new Map()
  await using busy = await BusyCores.start()
  arena.progress(`loaded: every core has another busy process (processes ${busy.pids.join(', ')})`)
  return await measureThroughput(contestants, { ...arena, progress: (text) => arena.progress(`loaded, ${text}`) })
}
