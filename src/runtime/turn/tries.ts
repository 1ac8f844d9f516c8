/**
 * Duty: how often the messages of a run have failed that wait for their retry, as the record keeps it: `<tries> <what>` of each, the
 * one that was tried last first. There are two at most: the first of the timers, and the result that comes next (HANDLER-INBOX-1 of
 * handler-inbox.ts).
 */
import type { RunPosition } from '../../core/ports/ports.ts'

export type Tries = Pick<RunPosition, 'attempt' | 'retrying'>

/** Failed tries of this one. */
export function triesOf(what: string, tries: Tries): number {
  return tries.attempt === 0 ? 0 : (countsOf(tries).get(what) ?? 0)
}

/** After this one has failed so often. */
export function withTries(what: string, attempt: number, tries: Tries): Tries {
  const others = countsOf(tries)
  others.delete(what)
  return { attempt, retrying: [what, ...wordsOf(others)].join(' ') }
}

/** Once this one has been received: what is counted of others stays. */
export function withoutTries(what: string, tries: Tries): Tries {
  if (tries.attempt === 0) return tries
  const others = countsOf(tries)
  others.delete(what)
  const [attempt = 0, ...retrying] = wordsOf(others)
  return { attempt: Number(attempt), retrying: retrying.join(' ') }
}

function countsOf({ attempt, retrying }: Tries): Map<string, number> {
  const counts = new Map<string, number>()
  if (attempt === 0) return counts
  const words = [String(attempt), ...retrying.split(' ')]
  for (let place = 0; place + 1 < words.length; place += 2) counts.set(words[place + 1] as string, Number(words[place]))
  return counts
}

function wordsOf(counts: ReadonlyMap<string, number>): (string | number)[] {
  return [...counts].flatMap(([what, tries]) => [tries, what])
}
