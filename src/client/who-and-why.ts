/** Duty: what somebody says of themselves and of their reason when they pause, resume or release something. */
import { checkOptions, type Rules } from '../core/check/check-options.ts'
import { preview } from '../core/check/preview.ts'
import { InputError } from '../core/errors.ts'
import { policy } from '../core/policy.ts'
import type { Submission } from './submission/submission.ts'

export interface PauseOptions {
  /** Who pauses or resumes, for people. Default: the actor of the client. */
  readonly by?: string | undefined
}

const pauseRules: Rules<PauseOptions> = {
  by: { expects: `a text of at most ${policy.reasonBytesMax} bytes`, fits: isShort },
}

/** Checks what somebody says of themselves and of their reason. `call`: the name of the call, for the error. */
export function whoAndWhy(
  call: string,
  submission: Submission,
  why: string | undefined,
  options: PauseOptions,
): { why?: string; by?: string } {
  if (why !== undefined && !isShort(why))
    throw new InputError(
      `reason of ${call} must be a text of at most ${policy.reasonBytesMax} bytes, not ${preview(why)}.`,
    )
  checkOptions(call, options, pauseRules, InputError)
  const { by = submission.by.by } = options
  return { ...(why === undefined ? {} : { why }), ...(by === undefined ? {} : { by }) }
}

function isShort(value: unknown): boolean {
  return typeof value === 'string' && Buffer.byteLength(value) <= policy.reasonBytesMax
}
