/**
 * Duty: begin a new session with the message of a dead letter, where the session of the letter takes no more messages.
 * LETTER-SESSION-1 The new session is like the old one: it has the same kind, name, mode, limits, permissions, weight and priority, says the same of
 * approvals, tells its result to the same place, and its agent is configured as the old one was. If the old session was pruned, only its kind is known.
 * A letter of a dry run begins no session, because the tools of a new one would act. A letter of a child begins a job of the child's kind, which tells
 * nobody of its result: the parent was told of the failure.
 * LETTER-SESSION-2 A letter begins one session, however often somebody asks within a day, and whatever became of the old session meanwhile: its id is the
 * idempotency key.
 * LETTER-SESSION-3 Media that the old session keeps beside the message come with it, unless that session was pruned.
 */
import { InputError } from '../../core/errors.ts'
import { isId, rootIdOf } from '../../core/ids.ts'
import type { Configuration } from '../../core/worker/message/configuration.ts'
import type { InspectStore } from '../../store/audit/inspect-store.ts'
import { approvalOptionsOf } from '../submission/approval-options.ts'
import { withBlobBytes } from '../submission/kept-media.ts'
import type { CreateSession, Submission } from '../submission/submission.ts'
import type { DeadLetter } from '../summaries.ts'
import { readRows } from '../worker-rows.ts'

export interface LetterSession {
  readonly sessionId: string
  /** The same letter had begun the session before. */
  readonly isAgain: boolean
}

/** The part of a submission that a letter needs. */
export type Begins = Pick<Submission, 'store' | 'create' | 'by'>

/** True if the letter was put aside by the first worker of its session. */
export function isOfRoot({ sessionId, workerId }: DeadLetter): boolean {
  return isId(sessionId) && rootIdOf(sessionId) === workerId
}

/** How a run goes on whose letter holds no message. A run of a root may go on, whatever the mode of its session. A child has told its parent. */
export function wayOn(letter: DeadLetter): string {
  return isOfRoot(letter)
    ? ` Let it go on at that step: troupe session retry ${letter.sessionId}`
    : ' Its parent was told.'
}

export async function beginFromLetter(
  letter: DeadLetter,
  store: InspectStore,
  submission: Begins,
): Promise<LetterSession> {
  const { id, workerId, message, unreadable, redrivenAs } = letter
  const which = `dead letter ${id} of worker ${workerId}`
  if (message === null) throw new InputError(`${which} holds no message to begin a session with.${wayOn(letter)}`)
  if (unreadable !== undefined)
    throw new InputError(
      `${which} holds a message that cannot be read: ${unreadable}. Dismiss it: troupe mailbox dismiss ${workerId} --id ${id}`,
    )
  if (redrivenAs !== null)
    throw new InputError(`${which} was put back, as message ${redrivenAs}: so it cannot begin a session, too.`)
  const { like, configured } = await likeOf(letter, store)
  const { blobs } = submission.store(letter.sessionId, 'session').forks
  const input = await withBlobBytes(message.value, letter.sessionId, blobs)
  const request = { ...like, input, idempotencyKey: `redrive:${workerId}:${id}` }
  const { sessionId, isNew } = await submission.create(request, undefined, undefined, { configured })
  return { sessionId, isAgain: !isNew }
}

async function likeOf(letter: DeadLetter, store: InspectStore): Promise<Like> {
  const { id, sessionId, workerId, evidence } = letter
  const [[row], read] = await Promise.all([readRows(store, [workerId]), store.session(sessionId)])
  if (row === undefined || read === null) return { like: { kind: String(evidence.kind) }, configured: undefined }
  if (row.damage) throw row.damage
  const { kind, name, limits, permissions, configured, copied } = row.record
  const { mode, allowed, approval, turnShare, notify, forkedFrom } = read.session
  if (copied === 'dry')
    throw new InputError(
      `session ${sessionId} of dead letter ${id} is a dry run: the tools of a new session would act. Send the message to session ${forkedFrom?.sessionId}, which it is a copy of.`,
    )
  const like = {
    kind,
    name,
    keepOpen: isOfRoot(letter) && mode === 'conversation',
    limits: { ...limits, ...allowed },
    ...approvalOptionsOf(approval),
    ...turnShare,
    permissions: permissions ?? undefined,
    notify: (isOfRoot(letter) && notify) || undefined,
  }
  return { like, configured: configured ?? undefined }
}

/** What a new session has of the session of the letter. */
interface Like {
  readonly like: Omit<CreateSession, 'input' | 'idempotencyKey'>
  readonly configured: Configuration | undefined
}
