/** Duty: the form of a commit's arguments and answers, as the headers of lua/commit.lua and lua/commits.lua have them. */

import { defaultName } from '../../core/definition/worker-name.ts'
import { InvariantError } from '../../core/errors.ts'
import type { Policy } from '../../core/policy.ts'
import type { ChildPlace, CommitAnswer, CommitRequest, Refusal } from '../../core/ports/ports.ts'
import { parseBells } from '../bells.ts'
import { encodeCalls } from '../record/call-ranges.ts'
import { decodeSpendings } from '../record/spending.ts'
import type { Argument, Reply } from '../script/script.ts'
import { decodeClaim } from './claim-answer.ts'

/** What a node says with each of its commits. */
export interface CommitContext {
  readonly nodeId: string
  /** By pool, as claims read them. */
  readonly kindLists: ReadonlyMap<string, string>
  readonly policy: Policy
}

/**
 * Is it a child's first step, with which its run completes and its turn ends, and nothing else? Most children have no other; it is sent in fewer
 * words, and Redis does less.
 */
export function isOnlyStep(request: CommitRequest): boolean {
  const { child, version, sequence, outcome, open, runState, userUsed, end } = request
  if (child === undefined || version !== 0 || sequence !== 1 || outcome !== 'completed' || end?.wait !== 'any')
    return false
  if (open || runState !== 'Idle' || userUsed !== 1) return false
  const { controlUsed, familyUsed, familySeen, awaits, awaiting, timersOpen, attempt, spawns, sends, timers } = request
  const counted = controlUsed + familySeen + awaiting + timersOpen + attempt
  const listed = familyUsed.length + awaits.length + spawns.length + sends.length + timers.length
  // Nothing has failed before: there is no failure to be kept, and none to be cleared.
  return (
    counted + listed === 0 && request.stateJson === undefined && request.failure == null && request.dead === undefined
  )
}

/** Its own words in lua/commits.lua, behind the number of its siblings. */
export function onlyStepWords(request: CommitRequest, context: CommitContext): Argument[] {
  const { workerId, result = '', event, entries } = request
  const words: Argument[] = [workerId, result, event, entries.length, ...entries]
  addSlotEnd(words, request, context)
  words.push('.')
  return words
}

/** Who has the same are siblings that a slot holds under one token. */
export function siblingsOf({ token, child }: CommitRequest): string {
  return `${token} ${(child as ChildPlace).parentRun}`
}

/** What they have in common; in front of the first of them. */
export function siblingsWords({ token, child, pool }: CommitRequest): Argument[] {
  const { sessionId, parentId, parentRun, depth } = child as ChildPlace
  return ['of', token, sessionId, parentId, parentRun ?? '-', depth, pool]
}

/** The words of any other commit there; `lists`: its entries and facts. */
export function turnWords(request: CommitRequest, lists: readonly Argument[]): Argument[] {
  const { workerId, token, sequence, version, runState, open, userUsed, end, event } = request
  return [
    workerId,
    token,
    sequence,
    version,
    runState,
    open ? '1' : '0',
    userUsed,
    end?.wait ?? '',
    event,
    ...lists,
    '.',
  ]
}

/** The entries, and what else is not as it is by default. */
export function commitLists(request: CommitRequest, context: CommitContext): Argument[] {
  const { nodeId, policy } = context
  const { entries, spawns, offer, sends, timers } = request
  const lists: Argument[] = [entries.length, ...entries]
  addFacts(lists, request, policy)
  if (offer) lists.push('eager', nodeId, policy.leaseMs, offer.slot, offer.nonce)
  for (const [index, { id, kind, name, pool, detached, call, grant = '', mail }] of spawns.entries()) {
    const how = (detached ? 1 : 0) + (offer?.takes[index] ? 2 : 0)
    const given = name === defaultName(kind, call) ? '' : name
    lists.push('spawn', id, kind, given, pool, how, call, grant, mail)
  }
  for (const { workerId, mail } of sends) lists.push('send', workerId, mail)
  for (const { id, ms, valueJson } of timers) lists.push('timer', id, ms, valueJson)
  addSlotEnd(lists, request, context)
  return lists
}

/** What the slot does next. */
function addSlotEnd(lists: Argument[], request: CommitRequest, { nodeId, kindLists, policy }: CommitContext): void {
  const { bell, pool, wasBusy, end } = request
  if (end === undefined) return
  const { next } = end
  if (wasBusy) lists.push('wasBusy', '1')
  if (next === 'stay') return
  if (next === null) {
    lists.push('leave', bell)
    return
  }
  if (next.keepBell) lists.push('keepBell', '1')
  if (!next.maySuspect) lists.push('noSuspect', '1')
  lists.push('claim', bell, next.nonce, next.slot, nodeId, kindLists.get(pool) ?? ' ', policy.leaseMs)
  lists.push(policy.claimMailBytes, policy.suspectAfterStarts, policy.poisonAfterStartsAlone)
}

function addFacts(lists: Argument[], request: CommitRequest, policy: Policy): void {
  const { attempt, retrying, controlUsed, familyUsed, familySeen, awaits, awaiting, timersOpen } = request
  if (attempt !== 0) lists.push('attempt', retrying === '' ? attempt : `${attempt} ${retrying}`)
  if (controlUsed !== 0) lists.push('controlUsed', controlUsed)
  if (familyUsed.length > 0) lists.push('familyUsed', familyUsed.join(','))
  if (familySeen !== 0) lists.push('familySeen', familySeen)
  if (awaits.length > 0) lists.push('awaits', encodeCalls(awaits))
  if (awaiting !== 0) lists.push('awaiting', awaiting)
  if (timersOpen !== 0) lists.push('timersOpen', timersOpen)
  const { stateJson, failure, outcome, result, dead, end } = request
  // A value over 64 bytes gets a key of its own, so that the record stays small in memory.
  if (stateJson !== undefined) lists.push(Buffer.byteLength(stateJson) <= 64 ? 'state' : 'stateKey', stateJson)
  if (failure !== undefined) lists.push('failure', failure === null ? '-' : JSON.stringify(failure))
  if (outcome !== undefined) lists.push('outcome', outcome)
  if (result !== undefined) lists.push('result', result)
  if (dead !== undefined) lists.push('dead', dead, 'deadKept', policy.deadLettersKept)
  if (end?.retryMs !== undefined) lists.push('retryMs', end.retryMs)
}

export function decodeCommit(reply: Reply, trustedUntil: number): CommitAnswer {
  switch (reply[0]) {
    case 'ok': {
      const [, version, bells, claimed, spent, caps, granted] = reply
      return {
        kind: 'ok',
        version: Number(version),
        bells: parseBells(bells),
        claimed: decodeClaim((claimed ?? null) as Reply | null, trustedUntil),
        ...(granted == null ? {} : { granted: granted as string[], trustedUntil }),
        spending: decodeSpendings(spent as string | null, caps as string | null),
      }
    }
    case 'fenced':
      return { kind: 'fenced', claimed: decodeClaim(reply[1] as Reply | null, trustedUntil) }
    case 'conflict':
      return { kind: 'conflict', version: Number(reply[1]) }
    case 'cancelled':
      return { kind: 'cancelled' }
    case 'refused':
      return { kind: 'refused', refusals: (reply[1] as Reply[]).map(decodeRefusal) }
    default:
      throw new InvariantError(`commit answered ${JSON.stringify(reply[0])}`)
  }
}

function decodeRefusal(reply: Reply): Refusal {
  const [reason, limit, id] = reply as [string, string | null, string]
  if (reason === 'damaged' || reason === 'session_finished') return { reason, limit: 0, id, what: limit ?? '' }
  return { reason, limit: Number(limit ?? 0), id }
}
