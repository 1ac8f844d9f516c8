/**
 * Duty: all contestants in rounds, one after the other within each round, so that a machine whose speed drifts is as fast for
 * one as for the next. Every other round runs backwards, so that none always follows the same neighbour.
 */
import type { Contestant } from '../contestant.ts'
import { cleanSlate } from '../measure/clean-slate.ts'
import { type Load, measureSteadyWindow, type Window } from '../measure/steady-window.ts'
import type { Arena } from './arena.ts'

/** By contestant, one window per round; a contestant that failed once has none. */
export type Windows = ReadonlyMap<string, readonly Window[]>

/** The first round is for the compiler's sake and is not kept. */
const rehearsal = { warmUpMs: 100, measuredMs: 500 } as const
const warmUpMs = 400

export async function measureThroughput(contestants: readonly Contestant[], arena: Arena): Promise<Windows> {
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
        const window = await measureOnce(contestant, round === 0 ? rehearsal : measured, arena)
        if (round > 0) kept.push(window)
      } catch (error) {
        // The others go on: one that fails must not hide what they show. Its figures are reported as not measured.
        arena.failed(contestant.name, error)
        windows.delete(contestant.id)
      }
    }
  }
  return windows
}

async function measureOnce(contestant: Contestant, times: Omit<Load, 'inFlight'>, arena: Arena): Promise<Window> {
  await cleanSlate(arena.redis)
  const open = await contestant.open(arena.nextPlace())
  try {
    return await measureSteadyWindow(() => open.perform(), { ...times, inFlight: contestant.inFlight }, arena.redis)
  } finally {
    await open.close()
  }
}
