/**
 * Duty: refusals of the store, which are values, as the typed errors that users see: what happened, to which id, what to do. The id
 * of a session is easily taken for that of a worker, and the reverse: who asks for the one with the other is told so.
 */
import { ConflictError, InvariantError, LimitError, NotFoundError, type RuntimeError } from '../errors.ts'
import { isWorkerId, partitionOf, rootIdOf } from '../ids.ts'
import type { Refusal } from '../ports/ports.ts'

/** A refusal of the store as the typed error that a user sees. */
export function refusalError({ reason, limit, id, what }: Refusal, who: string): RuntimeError {
  switch (reason) {
    case 'depth_exceeded':
      return new LimitError(
        'depth_exceeded',
        `${who} may not spawn: its session allows a depth of ${limit}. Raise limits.depth.`,
      )
    case 'children_exceeded':
      return new LimitError(
        'children_exceeded',
        `${who} may not spawn: its session allows a worker ${limit} children whose results it still awaits, new ones included. Wait for results, or raise limits.children.`,
      )
    case 'workers_exceeded':
      return new LimitError(
        'workers_exceeded',
        `${who} may not spawn: its session has had ${limit} workers. Raise limits.workers.`,
      )
    case 'permission_exceeded':
      return new LimitError(
        'permission_exceeded',
        `${who} may not give worker ${id} what it may not use itself: name only tools, kinds and folders within its own permissions.`,
      )
    case 'mailbox_full':
      return new LimitError(
        'mailbox_full',
        `the mailbox of worker ${id} is full (${limit} messages). Send again later, or raise limits.mailbox.`,
      )
    case 'not_found':
      return workerNotFound(id)
    case 'session_finished':
      return new ConflictError(
        'session_finished',
        `the session of worker ${id} ${what === 'cancelling' ? 'is being cancelled' : 'has finished'} and takes no more messages: create a new session.`,
      )
    case 'damaged':
      return new InvariantError(
        `worker ${id} cannot be sent to: what is stored of it is not as it should be (${what}). Another program wrote it: put it back, or remove it.`,
        { details: { damaged: what } },
      )
    default:
      return new ConflictError(
        'worker_terminal',
        `worker ${id} was cancelled for good and takes no more messages: create a new session.`,
      )
  }
}

export function workerNotFound(id: string): NotFoundError {
  const why = isWorkerId(id)
    ? 'check the id and the namespace; it may have been pruned.'
    : `that is the id of a session, whose root worker is ${rootIdOf(id)}.`
  return new NotFoundError('worker_not_found', `worker ${id} is not known: ${why}`)
}

/** Of an id whose partition the namespace does not have: nothing can be stored under it. */
export function partitionNotFound(id: string, what: 'worker' | 'session', namespace: string): NotFoundError {
  const why = `its id is of partition ${partitionOf(id)}, which namespace "${namespace}" does not have`
  return new NotFoundError(`${what}_not_found`, `${what} ${id} is not known: ${why}; check the id and the namespace.`)
}

/** `why` a session of this id would not be there. */
export function sessionNotFound(
  id: string,
  why = 'check the id and the namespace; it may have been pruned',
): NotFoundError {
  const because = isWorkerId(id) ? `that is the id of a worker, whose session \`troupe worker show ${id}\` tells` : why
  return new NotFoundError('session_not_found', `session ${id} is not known: ${because}.`)
}
