/**
 * Duty: the refusals of the store as values, and for each the typed error that a user sees: what happened, to which id, and what to do.
 * REFUSAL-1 The list of reasons is closed. A test compares it with the scripts.
 * REFUSAL-2 If a caller names a session where a worker is expected, or the reverse, the error says so.
 */
import { ConflictError, InvariantError, LimitError, NotFoundError, type RuntimeError } from '../errors.ts'
import { isWorkerId, partitionOf, rootIdOf } from '../ids.ts'
import { hardSessionLimits } from '../policy.ts'

export type Refusal =
  | {
      readonly reason: 'depth_exceeded' | 'children_exceeded' | 'workers_exceeded' | 'mailbox_full'
      readonly id: string
      readonly limit: number
    }
  | { readonly reason: 'permission_exceeded' | 'send_exceeded' | 'not_found' | 'terminal'; readonly id: string }
  /** The id is that of an ask: it was answered, or it expired, before the step that withdraws it. */
  | { readonly reason: 'ask_ended'; readonly id: string }
  | { readonly reason: 'session_finished'; readonly id: string; readonly state: string }
  /** Another program wrote over a part of the recipient. */
  | { readonly reason: 'damaged'; readonly id: string; readonly damage: string }

export type RefusalReason = Refusal['reason']

/** Reads the refusal that a script answers. */
export function decodeRefusal(reason: string, detail: string, id: string): Refusal {
  switch (reason as RefusalReason) {
    case 'depth_exceeded':
    case 'children_exceeded':
    case 'workers_exceeded':
    case 'mailbox_full':
      return { reason, id, limit: Number(detail) } as Refusal
    case 'permission_exceeded':
    case 'send_exceeded':
    case 'not_found':
    case 'terminal':
    case 'ask_ended':
      return { reason, id } as Refusal
    case 'session_finished':
      return { reason: 'session_finished', id, state: detail }
    case 'damaged':
      return { reason: 'damaged', id, damage: detail }
    default:
      throw new InvariantError(`the store refused worker ${id} for a reason that this version does not know: ${reason}`)
  }
}

/** `who`: the worker whose step was refused, or the recipient of a message. */
export function refusalError(refusal: Refusal, who: string): RuntimeError {
  const { id } = refusal
  switch (refusal.reason) {
    case 'depth_exceeded':
      return new LimitError(
        'depth_exceeded',
        `${who} may not spawn: its session allows a depth of ${refusal.limit}. A new session may get a higher limits.depth.`,
      )
    case 'children_exceeded':
      return new LimitError(
        'children_exceeded',
        `${who} may not spawn: its session allows a worker ${refusal.limit} children whose results it still awaits, new ones included. ${refusal.limit < hardSessionLimits.children ? 'Wait for results, or let further children wait to start (childrenAtOnce of its kind); a new session may get a higher limits.children.' : 'No session allows more: wait for results before others are spawned.'}`,
      )
    case 'workers_exceeded':
      return new LimitError(
        'workers_exceeded',
        `${who} may not spawn: its session has had ${refusal.limit} workers. A new session may get a higher limits.workers.`,
      )
    case 'permission_exceeded':
      return new LimitError(
        'permission_exceeded',
        `${who} may not give worker ${id} what it may not use itself: name only tools, kinds and folders within its own permissions.`,
      )
    case 'send_exceeded':
      return new LimitError(
        'permission_exceeded',
        `${who} may not send to worker ${id}: its permissions do not reach so far. An agent sends within its session, unless permissions.send names the worker.`,
      )
    case 'mailbox_full':
      return new LimitError(
        'mailbox_full',
        `the mailbox of worker ${id} is full (${refusal.limit} messages). \`troupe worker show ${id}\` tells what it waits for. Send again later; a new session may get a higher limits.mailbox.`,
      )
    case 'not_found':
      return workerNotFound(id)
    case 'session_finished':
      return new ConflictError(
        'session_finished',
        `the session of worker ${id} ${refusal.state === 'cancelling' ? 'is being cancelled' : 'has finished'} and takes no more messages: ${refusal.state === 'failed' ? `let it go on at its failed step (troupe session retry ${id}), or ` : ''}create a new session.`,
      )
    case 'damaged':
      return new InvariantError(
        `worker ${id} cannot be sent to: what is stored of it is not as it should be (${refusal.damage}). Another program wrote it: put it back, or remove it.`,
        { details: { damaged: refusal.damage } },
      )
    case 'ask_ended':
      return new ConflictError(
        'ask_answered',
        `${who} may not withdraw ask ${id}: it has ended. Its answer is in the mailbox.`,
      )
    case 'terminal':
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

/** The namespace lacks the partition of this id, so nothing can be stored under it. */
export function partitionNotFound(id: string, what: 'worker' | 'session', namespace: string): NotFoundError {
  const partition = partitionOf(id)
  const why = `its id is of partition ${partition}, which namespace "${namespace}" does not have`
  return new NotFoundError(`${what}_not_found`, `${what} ${id} is not known: ${why}; check the id and the namespace.`, {
    details: { partition },
  })
}

/** `why`: the reason to suspect if no session has this id. */
export function sessionNotFound(
  id: string,
  why = 'check the id and the namespace; it may have been pruned',
): NotFoundError {
  const because = isWorkerId(id) ? `that is the id of a worker, whose session \`troupe worker show ${id}\` tells` : why
  return new NotFoundError('session_not_found', `session ${id} is not known: ${because}.`)
}
