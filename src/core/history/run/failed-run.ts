/** Duty: what was known of a run when it failed, so that it can go on with it. */
import type { ErrorCode } from '../../errors.ts'
import type { ReplyCalls } from './reply-calls.ts'
import { countedAnew, type MutableRun } from './run-so-far.ts'

/** What was known of a run when it failed, until the next run begins. */
export interface FailedRun {
  readonly run: MutableRun
  readonly calls: ReplyCalls
  readonly firstText: string | undefined
  readonly code: ErrorCode
}

/** Codes of a run that failed because its input does not fit, or names a folder that the worker may not use. */
export const refusals: ReadonlySet<ErrorCode> = new Set<ErrorCode>([
  'input_invalid',
  'input_refused',
  'permission_exceeded',
])

/** The run as it goes on. The failure that ended it no longer counts. */
export function runAgain({ run, code }: FailedRun, at: number): MutableRun {
  return {
    ...run,
    failure: null,
    ...countedAnew,
    startedAt: at,
    retriedAfter: code,
    openAsk: null,
    answer: null,
    retries: run.retries + 1,
  }
}
