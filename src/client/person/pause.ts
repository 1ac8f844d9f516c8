/**
 * Duty: pause and resume one session, or all sessions of a namespace.
 * PAUSE-1 The pause of a session is answered once no node begins anything more in it: no `receive`, no model call, no tool. Calls that run then go on
 *     to their end, and are recorded.
 * PAUSE-2 A session that somebody resumes while another one waits for the end of its turns stays resumed.
 */
import { setTimeout as wait } from 'node:timers/promises'
import { ConflictError, TransientError } from '../../core/errors.ts'
import { encodeEvents } from '../../core/event/event-notes.ts'
import { policy } from '../../core/policy.ts'
import { sessionNotFound } from '../../core/worker/refusal.ts'
import type { Submission } from '../submission/submission.ts'
import { type PauseOptions, whoAndWhy } from '../who-and-why.ts'

/** How long it waits before it asks again how many turns may still begin something: at first, and at most. */
const askMs = 5
const askMsMax = 200

export async function pauseSession(
  submission: Submission,
  sessionId: string,
  why: string | undefined,
  options: PauseOptions,
): Promise<void> {
  const note = { ...whoAndWhy('pause', submission, why, options), at: Date.now() }
  const store = submission.store(sessionId, 'session')
  // A node that does not answer trusts its leases no longer than this.
  const until = performance.now() + 2 * policy.leaseMs
  for (let ms = askMs, goesOn = false; ; ms = Math.min(ms * 2, askMsMax), goesOn = true) {
    const answer = await store.pauses.pause(sessionId, note, goesOn)
    if (answer.kind === 'not_found') throw sessionNotFound(sessionId)
    if (answer.kind === 'finished')
      throw new ConflictError('session_finished', `session ${sessionId} is ${answer.state}: there is nothing to pause.`)
    if (answer.kind === 'resumed')
      throw new ConflictError(
        'transition_illegal',
        `session ${sessionId} was paused, and somebody resumed it before all of its turns had stopped: it goes on. To hold it all the same, pause it again.`,
      )
    if (answer.turns === 0) return
    if (performance.now() > until)
      throw new TransientError(
        `session ${sessionId} is paused, but ${answer.turns} of its turns may still begin something: their nodes have not answered. Pause it again to ask them.`,
      )
    await wait(ms)
  }
}

export async function resumeSession(
  submission: Submission,
  sessionId: string,
  why: string | undefined,
  options: PauseOptions,
): Promise<void> {
  const event = encodeEvents([['session.resumed', whoAndWhy('resume', submission, why, options)]])
  const store = submission.store(sessionId, 'session')
  const answer = await store.pauses.resume(sessionId, event)
  if (answer.kind === 'not_found') throw sessionNotFound(sessionId)
  submission.wake(store.partition, answer.wakeups)
}

/** `learn`: looks whether there are more partitions by now. */
type Learn = () => Promise<void>

export async function pauseAll(
  submission: Submission,
  learn: Learn,
  why: string | undefined,
  options: PauseOptions,
): Promise<void> {
  const note = { ...whoAndWhy('pause', submission, why, options), at: Date.now() }
  await inEach(submission.stores, learn, (store) => store.pauses.pauseAll(note))
}

export async function resumeAll({ stores }: Submission, learn: Learn): Promise<void> {
  await inEach(stores, learn, (store) => store.pauses.pauseAll(null))
}

/**
 * Makes the call for each store, then for those of partitions that this process did not know: `stores` grows when `learn` finds them. It looks for them
 * afterwards, so that all others are reached while the first partition, which has their number, is away.
 */
export async function inEach<Store>(
  stores: readonly Store[],
  learn: Learn,
  call: (store: Store) => Promise<void>,
): Promise<void> {
  for (let done = 0; done < stores.length; ) {
    const some = stores.slice(done)
    const failed = (await Promise.allSettled(some.map(call))).find(({ status }) => status === 'rejected')
    if (failed?.status === 'rejected') throw stores.length > 1 ? donePartly(failed.reason) : failed.reason
    done += some.length
    await learn()
  }
}

function donePartly(error: unknown): unknown {
  if (!(error instanceof TransientError)) return error
  const code = error.code === 'store_refused' ? error.code : 'store_unavailable'
  return new TransientError(
    `${error.message} The partitions that answered have done it. Repeat it when all of them answer.`,
    {
      code,
      cause: error,
    },
  )
}
