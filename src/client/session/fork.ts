/**
 * Duty: a whole live session once more, under new ids, as it was at one moment.
 * FORK-1 The session itself is not stopped, held up or changed: its turns go on, and commit as they would have.
 * FORK-2 Each message is in the copy once: it was received, or it waits in a mailbox.
 * FORK-3 Nobody sees a part of the copy. What a fork that was given up has written goes by itself.
 */
import { checkOptions, type Rules, yesOrNo } from '../../core/check/check-options.ts'
import { ConflictError, InputError, LimitError } from '../../core/errors.ts'
import { encodeEvents } from '../../core/event/event-notes.ts'
import { newId, partitionOf } from '../../core/ids.ts'
import { policy } from '../../core/policy.ts'
import { sessionNotFound } from '../../core/worker/refusal.ts'
import type { Cut } from '../../store/fork/fork-store.ts'
import { SessionCopy } from '../../store/fork/session-copy.ts'
import type { Submission } from '../submission/submission.ts'

export interface ForkSession {
  /** Tools with effects are not run in the copy: their calls get a result that says so. Pure tools run. Default: false. */
  readonly dryRun?: boolean | undefined
}

const forkRules: Rules<ForkSession> = { dryRun: yesOrNo }

/** Returns the id of the copy. */
export async function forkSession(submission: Submission, sessionId: string, query: ForkSession): Promise<string> {
  checkOptions('session.fork', query, forkRules, InputError)
  const isDryRun = query.dryRun ?? false
  const { forks, partition } = submission.store(sessionId, 'session')
  const copyId = newId(partitionOf(sessionId))
  const cut = await forks.cut(sessionId)
  if (cut.kind === 'not_found') throw sessionNotFound(sessionId)
  if (cut.kind === 'finished')
    throw new ConflictError(
      'session_finished',
      `session ${sessionId} is ${cut.state}: only a session that goes on is forked. troupe worker fork begins a conversation where one of its agents was.`,
    )
  if (cut.kind === 'too_many')
    throw new LimitError(
      'workers_exceeded',
      `session ${sessionId} has ${cut.workers} workers, and a session of more than ${policy.forkWorkersMax} is not forked: one script must look at all of them. troupe worker fork begins a conversation where one of its agents was.`,
    )
  if (cut.kind === 'too_large')
    throw new LimitError(
      'step_too_big',
      `the mailboxes, states and asks of session ${sessionId} hold more than ${policy.forkBytesMax} bytes, and one script must read all of them to fork it. Fork it when less waits, or a conversation alone with troupe worker fork.`,
    )
  const copy = new SessionCopy(forks, cut, copyId, { from: sessionId, at: Date.now(), isDryRun })
  const order = await copy.write()
  const more = { ...(isDryRun && { dryRun: true as const }), ...submission.by }
  const event = encodeEvents([['session.created', { ...nameOf(cut), forkedFrom: sessionId, ...more }]])
  const told = encodeEvents([['session.forked', { into: copyId, ...more }]])
  submission.wake(partition, await forks.appear({ ...order, event, told }))
  return copyId
}

function nameOf({ workers: [root] }: Cut) {
  const { kind = '', name, mode } = root?.fields ?? {}
  return {
    kind,
    ...(name !== undefined && { name }),
    ...(mode === 'conversation' && { mode: 'conversation' as const }),
  }
}
