/**
 * Duty: a whole live session once more, under new ids, as it was at one moment.
 * FORK-1 The session itself is not stopped, held up or changed: its turns go on, and commit as they would have.
 * FORK-2 Each message is in the copy once: it was received, or it waits in a mailbox.
 * FORK-3 Nobody sees a part of the copy. What an abandoned fork has written expires by itself.
 * FORK-4 A copy of a dry run is a dry run, too: it goes on from what tools did not do.
 */
import { checkOptions, keyRule, type Rules, yesOrNo } from '../../core/check/check-options.ts'
import { ConflictError, InputError, LimitError, TransientError } from '../../core/errors.ts'
import { encodeEvents } from '../../core/event/event-notes.ts'
import { newId, partitionOf } from '../../core/ids.ts'
import { policy } from '../../core/policy.ts'
import { sessionNotFound } from '../../core/worker/refusal.ts'
import type { Cut, CutAnswer } from '../../store/fork/fork-store.ts'
import { SessionCopy } from '../../store/fork/session-copy.ts'
import type { Submission } from '../submission/submission.ts'

export interface ForkSession {
  /**
   * Tools with effects are not run in the copy: their calls get a result that says so. Pure tools run. Default: false; a copy of a dry run is a dry run
   * all the same.
   */
  readonly dryRun?: boolean | undefined
  /** The same key within 24 h gives the same copy, also from another process. */
  readonly idempotencyKey?: string | undefined
}

const forkRules: Rules<ForkSession> = { dryRun: yesOrNo, idempotencyKey: keyRule }

/** Returns the id of the copy. */
export async function forkSession(submission: Submission, sessionId: string, query: ForkSession): Promise<string> {
  checkOptions('session.fork', query, forkRules, InputError)
  const { forks, partition } = submission.store(sessionId, 'session')
  const key = keyOf(submission, sessionId, query)
  const known = key === undefined ? null : await forks.known(key)
  if (known !== null) return known
  const copyId = newId(partitionOf(sessionId))
  const cut = await forks.cut(sessionId)
  if (cut.kind === 'not_found') throw sessionNotFound(sessionId)
  if (cut.kind === 'finished')
    throw new ConflictError(
      'session_finished',
      `session ${sessionId} is ${cut.state}: only a session that goes on is forked. troupe worker fork begins a new conversation with the messages of one of its agents.`,
    )
  if (cut.kind !== 'ok') throw notForked(sessionId, cut)
  const isDryRun = query.dryRun === true || cut.workers[0]?.fields.copied === 'dry'
  const copy = new SessionCopy(forks, cut, copyId, { from: sessionId, at: Date.now(), isDryRun })
  const order = await copy.write()
  const more = { ...(isDryRun && { dryRun: true as const }), ...submission.by }
  const event = encodeEvents([['session.created', { ...nameOf(cut), forkedFrom: sessionId, ...more }]])
  const told = encodeEvents([['session.forked', { into: copyId, ...more }]])
  const answer = await forks.appear({ ...order, event, told, key })
  if (answer.kind === 'again') return answer.sessionId
  submission.wake(partition, answer.wakeups)
  return copyId
}

/** A dry run and a full copy under the same key are two copies. */
function keyOf(submission: Submission, sessionId: string, { dryRun, idempotencyKey }: ForkSession): string | undefined {
  return idempotencyKey === undefined
    ? undefined
    : submission.digestOfAct(sessionId, dryRun ? 'dry fork' : 'fork', idempotencyKey)
}

function notForked(sessionId: string, cut: Exclude<CutAnswer, Cut | { kind: 'not_found' | 'finished' }>): Error {
  const instead = 'troupe worker fork begins a new conversation with the messages of one of its agents.'
  switch (cut.kind) {
    case 'too_many':
      return new LimitError(
        'workers_exceeded',
        `session ${sessionId} has ${cut.workers} workers, and a session of more than ${policy.forkWorkersMax} is not forked: one script must look at all of them. ${instead}`,
      )
    case 'too_large':
      return new LimitError(
        'step_too_big',
        cut.worker === null
          ? `the mailboxes, states and asks of session ${sessionId} hold more than ${policy.forkTotalBytesMax} bytes. Fork it when less waits; ${instead}`
          : `the mailbox, the state and the asks of worker ${cut.worker} hold more than ${policy.forkPartBytes} bytes, and one script must read them to fork session ${sessionId}. Fork it when less waits; ${instead}`,
      )
    case 'restless':
      return new TransientError(
        `session ${sessionId} changed faster than it could be read, so it was not forked. Try it again, or pause it for the time of the fork: troupe session pause ${sessionId}`,
      )
  }
}

function nameOf({ workers: [root] }: Cut) {
  const { kind = '', name, mode } = root?.fields ?? {}
  return {
    kind,
    ...(name !== undefined && { name }),
    ...(mode === 'conversation' && { mode: 'conversation' as const }),
  }
}
