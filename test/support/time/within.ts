/** For work that holds the thread, which no deadline of a test can end: it is ended, wherever it is, a regular expression included. */
import { runInNewContext } from 'node:vm'

/** Far beyond what the work takes on a slow machine, and far below what it takes when it goes back and forth over its input. */
const msMax = 10_000

/** What the work gives. Throws when it does not end. */
export function within<Result>(work: () => Result): Result {
  return runInNewContext('work()', { work }, { timeout: msMax }) as Result
}
