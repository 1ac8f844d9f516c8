/**
 * Duty: bound how long the folder of a worker may take to open. The system has no bound of its own where a network does not answer: the turn would
 * hold its worker for ever.
 */
import { InputError } from '../../core/errors.ts'
import { policy } from '../../core/policy.ts'

/** `opening` goes on if it takes too long, and its outcome is dropped: nothing can stop a call of the system. */
export async function inFolderTime<T>(
  folder: string,
  opening: Promise<T>,
  mostMs: number = policy.folderMs,
): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const why = `the folder ${folder} did not open within ${mostMs / 1_000} s: see whether it lies on a network that does not answer.`
  const timer = setTimeout(() => reject(new InputError(why)), mostMs)
  try {
    return await Promise.race([opening, late])
  } finally {
    clearTimeout(timer)
  }
}
