/** Duty: the cancels that programs ask for: of a session, of one worker, of one run. */
import { encodeEvents } from '../../core/event/event-notes.ts'
import { newId, sessionIdOfRoot } from '../../core/ids.ts'
import type { Policy } from '../../core/policy.ts'
import { type PartitionKeys, rootKey, sessionKeys, workerKeys } from '../keys.ts'
import type { ScriptCaller } from '../script/script.ts'
import { cancelScript, cancelWorkerScript } from '../script/scripts.ts'

/** Who asked for the cancel, for the event. */
export interface Canceller {
  readonly by?: string
}

export type CancelAnswer = { readonly kind: 'ok' | 'not_found' } | { readonly kind: 'finished'; readonly state: string }

/** rests: no run of it is in progress. */
export type CancelWorkerAnswer =
  | { readonly kind: 'ok' | 'not_found' | 'terminal' | 'rests' }
  | { readonly kind: 'session_finished'; readonly state: string }

export class Cancels {
  readonly #caller: ScriptCaller
  readonly #keys: PartitionKeys
  readonly #policy: Policy
  readonly #deadlineMs: number

  constructor(caller: ScriptCaller, keys: PartitionKeys, policy: Policy, deadlineMs: number) {
    this.#caller = caller
    this.#keys = keys
    this.#policy = policy
    this.#deadlineMs = deadlineMs
  }

  async session(sessionId: string, reason: string, by: Canceller = {}): Promise<CancelAnswer> {
    const { cancelled } = sessionKeys(this.#keys.tag, sessionId)
    const reply = await this.#caller.call(
      cancelScript,
      {
        root: rootKey(this.#keys.tag, sessionId),
        cancelled,
        cancelling: this.#keys.cancelling,
        events: this.#keys.events,
      },
      {
        sessionId,
        reason: JSON.stringify(reason),
        channel: this.#keys.cancelNotices,
        event: encodeEvents([['session.cancelRequested', { reason, ...by }]]),
        why: reason,
      },
      { deadlineMs: this.#deadlineMs },
    )
    if (reply[0] === 'finished') return { kind: 'finished', state: String(reply[1]) }
    return { kind: reply[0] as 'ok' | 'not_found' }
  }

  /**
   * worker: the worker is cancelled for good, with its subtree; a root is cancelled with its session. run: only the run that is in progress. A number:
   * that too, if it is the run of this number. `digest`: names the call, which may be sent again.
   */
  async worker(
    workerId: string,
    what: 'worker' | 'run' | number,
    reason: string,
    by: Canceller = {},
    digest: string = newId(0),
  ): Promise<CancelWorkerAnswer> {
    const { cancelling, events, cancelNotices: channel } = this.#keys
    const [of, run] = typeof what === 'number' ? (['run', what] as const) : [what, undefined]
    const event = encodeEvents([['worker.cancelRequested', { what: of, reason, ...by }]])
    const [kind, state] = await this.#caller.call(
      cancelWorkerScript,
      { record: workerKeys(this.#keys.tag, workerId).record, cancelling, events, idem: this.#keys.idem(digest) },
      { worker: workerId, what: of, run, idemMs: this.#policy.madeKeyMs, reason, channel, event },
      { deadlineMs: this.#deadlineMs },
    )
    if (kind === 'session_finished') return { kind, state: String(state) }
    if (kind !== 'root') return { kind: kind as 'ok' | 'not_found' | 'terminal' | 'rests' }
    const answer = await this.session(sessionIdOfRoot(workerId), reason, by)
    return answer.kind === 'finished' ? { kind: 'session_finished', state: answer.state } : answer
  }
}
