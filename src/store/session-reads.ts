/** Duty: small reads of a session's record that turns and clients share. */
import { NotFoundError } from '../core/errors.ts'
import type { SessionLimits } from '../core/policy.ts'
import { sessionKeys } from './keys.ts'
import type { Redis } from './redis.ts'

export async function readSessionLimits(redis: Redis, tag: string, sessionId: string): Promise<SessionLimits> {
  const [workers, children, depth, mailbox] = await redis.hmget(
    sessionKeys(tag, sessionId).session,
    'workersMax',
    'childrenMax',
    'depthMax',
    'mailboxMax',
  )
  if (workers == null)
    throw new NotFoundError('session_not_found', `session ${sessionId} is not known: it may have been pruned.`)
  return { workers: Number(workers), children: Number(children), depth: Number(depth), mailbox: Number(mailbox) }
}
