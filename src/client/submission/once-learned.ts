/**
 * Duty: make a call again that was refused because there are more partitions than this process knew.
 * LEARNED-1 While the number is being raised, some partitions know it before anybody can learn it (RAISE-3). Until then it is looked for again.
 */
import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { partitionsIn } from '../../store/session/create-sessions.ts'

const lookEveryMs = 50

export interface Learning {
  /** Looks whether there are more partitions by now. Absent: nobody does. */
  readonly learn: (() => Promise<unknown>) | undefined
  /** How many partitions this process knows. */
  readonly known: () => number
  readonly deadlineMs: number
}

/** Throws the error if that was not the reason, or if the new number cannot be learned within the deadline. */
export async function onceLearned<T>(
  error: unknown,
  again: () => Promise<T>,
  { learn, known, deadlineMs }: Learning,
): Promise<T> {
  const partitions = partitionsIn(error)
  if (partitions === undefined || learn === undefined) throw error
  const giveUpAt = performance.now() + deadlineMs
  for (;;) {
    await learn()
    if (known() >= partitions) return again()
    if (performance.now() + lookEveryMs > giveUpAt) throw error
    await sleep(lookEveryMs)
  }
}
