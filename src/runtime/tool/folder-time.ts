/**
 * Duty: bound how long the folder of a worker may take to open, and how long its files may take to be read before a model call. The system has no bound of
 * its own where a network does not answer: the turn would hold its worker for ever.
 */
import { InputError } from '../../core/errors.ts'
import { policy } from '../../core/policy.ts'

/** `work` goes on if it takes too long, and its outcome is dropped: nothing can stop a call of the system. `late`: what the error says of it. */
export async function inFolderTime<T>(late: string, work: Promise<T>, mostMs: number = policy.folderMs): Promise<T> {
  const { promise: end, reject } = Promise.withResolvers<never>()
  const why = `${late} within ${mostMs / 1_000} s: see whether it lies on a network that does not answer.`
  const timer = setTimeout(() => reject(new InputError(why)), mostMs)
  try {
    return await Promise.race([work, end])
  } finally {
    clearTimeout(timer)
  }
}
