/**
 * Duty: how often each message of a run that waits for its retry has failed, in the form of the record: `attempt` counts the message that was tried
 * last, and `retrying` holds its name, then `<attempts> <name>` of the others. Three messages wait at most: the first that steers the run, the first of
 * the timers, and the result that comes next (HANDLER-INBOX-1 of handler-inbox.ts).
 */
import type { RunPosition } from '../../core/ports/ports.ts'

export type Attempts = Pick<RunPosition, 'attempt' | 'retrying'>

/** How often this message has failed. */
export function attemptsOf(name: string, attempts: Attempts): number {
  return attempts.attempt === 0 ? 0 : (countsOf(attempts).get(name) ?? 0)
}

/** The attempts after this message has failed for this number of times. */
export function withAttempts(name: string, attempt: number, attempts: Attempts): Attempts {
  const others = countsOf(attempts)
  others.delete(name)
  return { attempt, retrying: [name, ...wordsOf(others)].join(' ') }
}

/** The attempts after this message was received. The counts of other messages stay. */
export function withoutAttempts(name: string, attempts: Attempts): Attempts {
  if (attempts.attempt === 0) return attempts
  const others = countsOf(attempts)
  others.delete(name)
  const [attempt = 0, ...retrying] = wordsOf(others)
  return { attempt: Number(attempt), retrying: retrying.join(' ') }
}

function countsOf({ attempt, retrying }: Attempts): Map<string, number> {
  const counts = new Map<string, number>()
  if (attempt === 0) return counts
  const words = [String(attempt), ...retrying.split(' ')]
  for (let index = 0; index + 1 < words.length; index += 2) counts.set(words[index + 1] as string, Number(words[index]))
  return counts
}

function wordsOf(counts: ReadonlyMap<string, number>): (string | number)[] {
  return [...counts].flatMap(([name, count]) => [count, name])
}
