/**
 * Duty: the rules between the workers of a session, and those for the record of the session.
 * RULES-1 They are applied only to workers of one picture. If two workers were read apart, one may have changed in between.
 */

import { decodeTally, spendingOf } from '../core/history/run/agent-tally.ts'
import { childId, rootIdOf } from '../core/ids.ts'
import type { Spending } from '../core/policy.ts'
import { decodeHead, resultChildOf } from '../core/worker/message/message.ts'
import { isWithinFolder, isWithinSend } from '../core/worker/permissions.ts'
import { addCost, type Cost } from '../core/worker/run/cost.ts'
import { addSpending } from '../core/worker/run/usage.ts'
import type { Picture, SessionPicture, WorkerPicture } from '../store/audit/audit-picture.ts'
import { idText, type Say, type Suspicion, sayOf } from './finding.ts'
import type { SpawnedChild } from './history-fold.ts'
import { isCancelling, isOpen, type Seen } from './worker-rules.ts'

/** Workers of one session in one picture. `isWhole`: they are all of its workers. */
export interface Group {
  readonly session: SessionPicture
  readonly seen: ReadonlyMap<string, Seen>
  readonly missing: Picture['missing']
  readonly brokenPermissions: Picture['brokenPermissions']
  readonly isWhole: boolean
}

export function groupRules(group: Group, found: Suspicion[]): void {
  const { session, seen } = group
  const say = sayOf(found, session.id, null)
  missingRules(group, say)
  for (const one of seen.values()) {
    for (const child of one.fold.children) childRules(one, child, group)
    deliveryRules(one, seen)
    permissionsRule(one, seen)
  }
  stateRules(group, say)
  if (!group.isWhole) return
  reportedRule(group, say)
  spentRule(group, say)
  costRule(group, say)
}

// I1, I8: a worker that was created has a record until its session is pruned.
function missingRules({ session, missing, seen }: Group, say: Say): void {
  if (session.record === null || session.damage.length > 0) return
  for (const { id, isListed } of missing) {
    if (!isListed) continue
    const parent = [...seen.values()].find(({ fold }) => fold.children.some((child) => child.id === id))
    const of = parent ? `, a child of ${parent.picture.id},` : ''
    say('I8', 'record', `worker ${idText(id)}${of} is listed in its session and has no record`, [id])
  }
}

// I8: each spawning call has one child, and the parent has one result of each child.
function childRules(parent: Seen, child: SpawnedChild, { session, seen, missing, isWhole }: Group): void {
  const { picture, fold, say } = parent
  const { id } = picture
  const involved = [id, child.id]
  if (child.id !== childId(id, child.run, child.call))
    say('I8', 'id', `call ${child.call} of run ${child.run} made worker ${child.id}, whose id is another's`, involved)
  if (isWhole && !seen.has(child.id) && !missing.some((one) => one.id === child.id))
    say(
      'I8',
      'unlisted',
      `its child ${child.id} (call ${child.call}) is not among the workers of its session`,
      involved,
    )
  const results = fold.resultsOf.get(child.id) ?? 0
  const waiting = picture.lanes.results.heads.filter((head) => resultChildOf(head) === child.id).length
  if (results + waiting > 1)
    say(
      'I8',
      'results',
      `it has ${results + waiting} results of its child ${child.id}: ${results} received, ${waiting} waiting`,
    )
  const seenChild = seen.get(child.id)
  if (seenChild === undefined) return
  const { record } = seenChild.picture
  if (record.parentId !== id)
    say('I8', 'parent', `its child ${child.id} does not know it: its parent is ${record.parentId}`, involved)
  const pendingCalls = isOpen(picture) && fold.run === child.run && !child.detached
  const hasEnded = record.run > 1
  const waitsToStart = record.status === 'parked' && record.wait.kind === 'start'
  if (waitsToStart && !isStopped(session) && !(pendingCalls && startsNext(picture)))
    say('I9', 'start', `its child ${child.id} waits to start, and no child runs whose end would start it`, involved)
  if (!pendingCalls || !picture.lanes.results.isWhole || isStopped(session)) return
  if (hasEnded && results + waiting === 0)
    say('I8', 'result', `its child ${child.id} has ended, and its result is not here: it waits for ever`, involved)
  if (!hasEnded && results + waiting > 0)
    say('I8', 'early', `it has a result of its child ${child.id}, which has not ended`, involved)
}

/** True if the end of a child that runs starts one that waits. */
function startsNext({ record: { atOnce } }: WorkerPicture): boolean {
  return atOnce !== null && atOnce.running > 0 && atOnce.waiting > 0
}

function isStopped({ record, cancelled, damage }: SessionPicture): boolean {
  return damage.length > 0 || cancelled.length > 0 || (record !== null && record.cancelReasonJson !== null)
}

// I1, I2: a recipient has as many messages as were sent to it, the first one of a child included.
function deliveryRules({ picture, fold, say }: Seen, seen: ReadonlyMap<string, Seen>): void {
  for (const [to, sent] of fold.sent) {
    const recipient = seen.get(to)
    if (recipient === undefined) continue
    const came = arrivals(recipient, picture.id)
    if (came === null || came === sent) continue
    const what = `it sent ${sent} messages to ${to}, of which ${came} arrived there`
    say(came < sent ? 'I1' : 'I2', 'sent', what, [picture.id, to])
  }
}

/** How many inputs of this sender ever came. Null if that is not known: dead letters do not name their sender. */
export function arrivals({ picture, fold }: Seen, from: string | null): number | null {
  const { inbox } = picture.lanes
  if (!inbox.isWhole || fold.deadRuns > 0) return null
  const waiting = inbox.heads.map(decodeHead).filter((head) => head?.kind === 'input' && head.from === from).length
  return (fold.arrived.get(from) ?? 0) + waiting
}

// I13: a worker cannot permit a child what it may not use itself.
function permissionsRule({ picture, say }: Seen, seen: ReadonlyMap<string, Seen>): void {
  const parent = seen.get(picture.record.parentId ?? '')?.picture
  const given = parent?.record.permissions ?? null
  if (parent === undefined || given === null) return
  const own = picture.record.permissions ?? {}
  const isWithin = (mine: readonly string[] | undefined, its: readonly string[] | undefined) =>
    its === undefined || (mine?.every((name) => its.includes(name)) ?? false)
  const { folder } = given
  const stays = folder === undefined || (own.folder !== undefined && isWithinFolder(own.folder, folder))
  if (
    !isWithin(own.tools, given.tools) ||
    !isWithin(own.kinds, given.kinds) ||
    !stays ||
    !isWithinSend(own.send, given.send)
  )
    say('I13', 'permissions', `it may use more than its parent ${parent.id}`, [picture.id, parent.id])
}

// I12, I16: the state of the session agrees with its workers, its counts and the sets.
function stateRules({ session, seen, brokenPermissions }: Group, say: Say): void {
  const { id, record } = session
  const root = rootIdOf(id)
  if (session.damage.length > 0) return
  if (record === null) {
    if (session.isIndexed) say('I16', 'session', `session ${idText(id)} is in the index and has no record`)
    return
  }
  if (session.isIndexed === false) say('I16', 'index', `session ${id} has a record and is not in the index`)
  if (session.isListedAsEnded !== null && session.isListedAsEnded !== (record.end !== null)) {
    const there =
      session.isListedAsEnded === undefined
        ? 'does not have it'
        : `lists it as one that ${session.isListedAsEnded ? 'has ended' : 'goes on'}`
    say('I16', 'ends', `session ${id} ${record.end === null ? 'goes on' : 'has ended'}, and the index of ends ${there}`)
  }
  const count = session.listed + 1 + record.retired
  if (record.workers !== count) say('I16', 'count', `session ${id} counts ${record.workers} workers and lists ${count}`)
  for (const { id: blob, told, there } of session.brokenBlobs)
    say(
      'I16',
      `blob-${blob}`,
      blob === 'bytes'
        ? `the index of session ${id} says that its blobs have ${told} bytes, and they have ${there}`
        : `the index of session ${id} says that blob ${idText(blob)} has ${told} bytes, and its key has ${there}`,
    )
  for (const digest of brokenPermissions)
    say(
      'I13',
      `permissions-${digest}`,
      `session ${id} keeps permissions as ${idText(digest)}, and their text has another digest`,
    )
  const unfinished = isCancelling(session) || session.cancelled.length > 0
  if (unfinished && session.isCancelling === false)
    say('I12', 'unfinished', `a cancel in session ${id} is not finished, and no sweep knows of it`)
  const alive = [...seen.values()].filter(({ picture }) => isOpen(picture) && isHit(picture, session.cancelled))
  if (alive.length > 0 && !session.hasWorkersToEnd)
    say(
      'I12',
      'forgotten',
      `worker ${alive[0]?.picture.id} is cancelled and has not ended, and no sweep looks for workers of session ${id}`,
      alive.map(({ picture }) => picture.id),
    )
  // A job that ended because its run was cancelled is like any that ended.
  if (record.end?.status === 'cancelled' && record.cancelReasonJson !== null) {
    for (const { picture } of seen.values())
      if (picture.record.status !== 'terminal')
        say('I12', 'alive', `session ${id} is cancelled and worker ${picture.id} is ${picture.record.status}`, [
          picture.id,
        ])
  } else if (record.end !== null) {
    const picture = seen.get(root)?.picture
    if (picture && (isOpen(picture) || picture.lanes.inbox.length > 0))
      say('I16', 'ended', `session ${id} has ended, and its root has a run open or mail waiting`, [root])
  }
}

/** True if the worker is cancelled for good, or with the run of its parent that waits for it: it reports the end of its first run. */
function isHit({ id, record: { parentId, parentRun, run } }: WorkerPicture, cancelled: readonly string[]): boolean {
  const ofParent = run === 1 ? [`${parentId}:${parentRun}`, `${parentId}:*`] : [`${parentId}:*`]
  return [`${id}:*`, ...ofParent].some((element) => cancelled.includes(element))
}

// I8: a run that ends before a child has reported counts as a cancel. If a result is gone from a history, there is one run too many.
function reportedRule({ session, seen }: Group, say: Say): void {
  const runs = [...seen.values()].flatMap(({ picture, fold }) =>
    fold.runsWithMissing.map((run) => ({ ...run, worker: picture.id })),
  )
  if (session.record === null) return
  const cancelCount = session.record.cancelCount - (session.record.cancelReasonJson === null ? 0 : 1)
  if (runs.length <= cancelCount) return
  const which = runs.slice(0, 3).map(({ worker, run, children }) => `${children.join(', ')} in run ${run} of ${worker}`)
  say(
    'I8',
    'unreported',
    `results are not in the history that received them, among ${runs.length - cancelCount} of: ${which.join('; ')}`,
  )
}

// I16: the spending of the session is the sum over its workers.
function spentRule({ session, seen }: Group, say: Say): void {
  const { id } = session
  const kept = session.record?.spent ?? null
  if (kept === null) return
  let sum: Spending = { modelCalls: 0, tokens: 0, toolCalls: 0 }
  for (const { picture } of seen.values()) {
    const tally = decodeTally(picture.record.data)
    if (tally !== null) sum = addSpending(sum, spendingOf(tally))
  }
  const words = ({ modelCalls, tokens, toolCalls }: Spending) =>
    `${modelCalls} model calls, ${tokens} tokens and ${toolCalls} tool calls`
  if (words(sum) !== words(kept))
    say('I16', 'spent', `session ${id} has spent ${words(kept)}, and its workers ${words(sum)}`)
}

// I16: the cost of the session is the sum over its workers.
function costRule({ session, seen }: Group, say: Say): void {
  const kept = session.record?.cost ?? null
  if (kept === null) return
  let sum: Cost = { costMicroUsd: 0, unpricedModelCalls: 0 }
  for (const { picture } of seen.values()) if (picture.record.cost !== null) sum = addCost(sum, picture.record.cost)
  const words = ({ costMicroUsd, unpricedModelCalls }: Cost) =>
    `${costMicroUsd} millionths of a dollar and ${unpricedModelCalls} calls without a price`
  if (words(sum) !== words(kept))
    say('I16', 'cost', `session ${session.id} has cost ${words(kept)}, and its workers ${words(sum)}`)
}
