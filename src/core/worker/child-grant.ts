/**
 * Duty: the grant of a child that its slot goes on with: as a claim would give it, made of what its parent's node knows already.
 * Nobody but this node can have sent it anything: it holds the one message that it was spawned with.
 */

import type { CommitAnswer, CommitRequest, Grant, SpawnOrder } from '../ports/ports.ts'
import { decodeMail } from './message.ts'
import { decodeGrant } from './worker-grant.ts'

type Recorded = Extract<CommitAnswer, { kind: 'ok' }>

/** A commit that offers the children it spawns to the slot. */
export interface ChildOffering {
  /** The grant of its turn, at the run that spawns. */
  readonly parent: Grant
  readonly request: CommitRequest
}

/** Of those that the slot took with this commit, in the order of their spawns. */
export function childGrants(
  { parent, request: { spawns, offer } }: ChildOffering,
  { granted = [], spending, trustedUntil = 0 }: Pick<Recorded, 'granted' | 'spending' | 'trustedUntil'>,
): readonly Grant[] {
  if (offer === undefined) return []
  const taken = spawns.filter(({ id }, index) => offer.takes[index] && granted.includes(id))
  return taken.map((spawn) => childGrant(parent, spawn, offer.nonce, { spending, trustedUntil }))
}

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
