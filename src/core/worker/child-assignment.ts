/**
 * Duty: makes the assignment of an inline child as a claim would give it, from what its parent's node knows already.
 * Nobody but this node can have sent the child anything: it has the one message that it was spawned with.
 */

import type { Assignment, SpawnOrder } from '../ports/ports.ts'
import { decodeMail } from './message/message.ts'
import { decodePermissions } from './permissions.ts'
import { beforeRun } from './run-ends.ts'

/** `parent`: the assignment of the turn that spawned it, at that run. */
export function childAssignment(
  parent: Assignment,
  { id, kind, name, pool, detached, call, permissions = '', mail }: SpawnOrder,
  nonce: string,
  { spending, approval, trustedUntil }: Pick<Assignment, 'spending' | 'approval' | 'trustedUntil'>,
): Assignment {
  return {
    workerId: id,
    purpose: 'run',
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
    approval,
    permissions: permissions === '' ? {} : decodePermissions(permissions),
    ...beforeRun(1),
    version: 0,
    starts: 1,
    crashes: 0,
    lastWords: null,
    gates: null,
    notifies: false,
    queuedAt: null,
    stateJson: null,
    begunRun: 0,
    steered: [],
    configured: null,
    isDryRun: parent.isDryRun,
    commitId: '',
    resultsTaken: 0,
    resultsSeen: 0,
    mail: { signals: [], results: [], inbox: [decodeMail('inbox', 0, mail)] },
    trustedUntil,
  }
}
