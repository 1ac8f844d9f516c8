/**
 * Duty: makes the grant of an inline child as a claim would give it, from what its parent's node knows already.
 * Nobody but this node can have sent the child anything: it has the one message that it was spawned with.
 */

import type { Grant, SpawnOrder } from '../ports/ports.ts'
import { decodeMail } from './message.ts'
import { decodeGrant } from './worker-grant.ts'

/** `parent`: the grant of the turn that spawned it, at that run. */
export function childGrant(
  parent: Grant,
  { id, kind, name, pool, detached, call, grant = '', mail }: SpawnOrder,
  nonce: string,
  { spending, trustedUntil }: Pick<Grant, 'spending' | 'trustedUntil'>,
): Grant {
  return {
    workerId: id,
    mark: 'run',
    token: `1:${nonce}`,
    epoch: 1,
    suspect: false,
    sessionId: parent.sessionId,
    parentId: parent.workerId,
    isJob: false,
    parentRun: detached ? null : parent.run,
    call: detached ? null : call,
    kind,
    name,
    pool,
    depth: parent.depth + 1,
    limits: parent.limits,
    spending,
    allowed: grant === '' ? {} : decodeGrant(grant),
    run: 1,
    open: false,
    runState: 'Idle',
    version: 0,
    starts: 1,
    crashes: 0,
    attempt: 0,
    retrying: '',
    calls: 0,
    awaits: [],
    timersOpen: 0,
    stateJson: null,
    commitId: '',
    familyTaken: 0,
    familySeen: 0,
    mail: { control: [], family: [], user: [decodeMail('user', 0, mail)] },
    trustedUntil,
  }
}
