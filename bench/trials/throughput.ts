/**
 * Duty: measures all contestants in rounds, one after the other within each round, so that a machine whose speed drifts is
 * equally fast for neighbours. Every other round runs in the opposite order, so that none always follows the same one.
 */
import type { Contestant } from '../contestant.ts'
import { cleanSlate } from '../measure/clean-slate.ts'
import { aroundMsMax, ContestantProcess } from '../measure/contestant-process.ts'
import type { Load, Window } from '../measure/steady-window.ts'
import type { Arena } from './arena.ts'

/** By contestant, one window for each round; a contestant that failed once has none. */
export type Windows = ReadonlyMap<string, readonly Window[]>

/** The first round only warms the compiler, and is not kept: a real process is warm after some seconds, and stays warm for days. */
const rehearsal = { warmUpMs: 100, measuredMs: 6_000 } as const
const warmUpMs = 1_500

export async function measureThroughput(contestants: readonly Contestant[], arena: Arena): Promise<Windows> {
  const processes = new Map(contestants.map(({ id }) => [id, new ContestantProcess(id)]))
  try {
    return await measureRounds(contestants, processes, arena)
  } finally {
    await Promise.all([...processes.values()].map((one) => one.stop()))
  }
}

async function measureRounds(
  contestants: readonly Contestant[],
  processes: ReadonlyMap<string, ContestantProcess>,
  arena: Arena,
): Promise<Windows> {
  const windows = new Map<string, Window[]>(contestants.map(({ id }) => [id, []]))
  const measured = { warmUpMs, measuredMs: arena.seconds * 1_000 }
  for (let round = 0; round <= arena.repeats; round++) {
    const order = round % 2 === 0 ? contestants : contestants.toReversed()
    for (const contestant of order) {
      const kept = windows.get(contestant.id)
      if (kept === undefined) continue
      const title = round === 0 ? 'rehearsal' : `round ${round} of ${arena.repeats}`
      arena.progress(`${title}: ${contestant.name}`)
      try {
        await cleanSlate(arena.redis)
        const load: Load = { ...(round === 0 ? rehearsal : measured), inFlight: contestant.inFlight }
        const own = processes.get(contestant.id) as ContestantProcess
        const window = await own.measure(
          { place: arena.nextPlace(), load },
          load.warmUpMs + load.measuredMs + aroundMsMax,
        )
        if (round > 0) kept.push(window)
      } catch (error) {
        // The other contestants go on; the figures of this one are reported as not measured.
        arena.failed(contestant.name, error)
        windows.delete(contestant.id)
      }
    }
  }
  return windows
}
