/** Duty: say with what a session begins: its first input; and beside what its creator asks for, how its first worker is set and what it is a branch of. */
import { InputError } from '../../core/errors.ts'
import { toJson } from '../../core/json.ts'
import type { Configuration } from '../../core/worker/message/configuration.ts'
import type { BranchOf } from '../../store/record/session-record.ts'

export interface SessionStart {
  /** What its first worker, an agent, is set to, as `worker.configure` sets it. */
  readonly configured?: Configuration | undefined
  readonly branchOf?: BranchOf | undefined
}

interface Begins {
  readonly input?: unknown
  readonly history?: readonly unknown[] | undefined
  readonly keepOpen?: boolean | undefined
}

/** The first input as JSON; null for a conversation that waits for its first message. */
export function firstInput({ input, history, keepOpen }: Begins): string | null {
  if (input !== undefined || history === undefined) return toJson(input, 'the input')
  if (keepOpen) return null
  throw new InputError(
    'a session that begins with a history needs an input, or keepOpen: true to wait for its first message.',
  )
}
