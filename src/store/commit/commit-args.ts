/** Duty: the form of a commit's arguments and answers, as the header of lua/commit.lua has them. */

import { defaultName } from '../../core/definition/worker-name.ts'
import { InvariantError } from '../../core/errors.ts'
import type { Policy } from '../../core/policy.ts'
import type { CommitAnswer, CommitRequest } from '../../core/ports/ports.ts'
import { decodeRefusal } from '../../core/worker/refusal.ts'
import { encodeCalls } from '../record/call-ranges.ts'
import { decodeSpendings } from '../record/spending.ts'
import type { Argument, Reply } from '../script/script.ts'
import { parseWakeups } from '../wakeups.ts'
import { decodeClaim } from './claim-answer.ts'

/** What a node says with each of its commits. */
export interface CommitContext {
  readonly nodeId: string
  /** By pool, as claims read them. */
  readonly kindLists: ReadonlyMap<string, string>
  readonly policy: Policy
}

/** One commit among those of a script. */
export function commitWords(request: CommitRequest, context: CommitContext): Argument[] {
  const { nodeId, policy } = context
  const { workerId, token, sequence, version, runState, open, inputsConsumed, end, event } = request
  const { entries, spawns, offer, sends, timers } = request
  const lists: Argument[] = [
    workerId,
    token,
    sequence,
    version,
    runState,
    open ? '1' : '0',
    inputsConsumed,
    end?.wait ?? '',
    event,
  ]
  lists.push(entries.length, ...entries)
  addFacts(lists, request, policy)
  if (offer) lists.push('eager', nodeId, policy.leaseMs, offer.slot, offer.nonce)
  for (const [index, { id, kind, name, pool, detached, call, permissions = '', mail }] of spawns.entries()) {
    const how = (detached ? 1 : 0) + (offer?.takes[index] ? 2 : 0)
    const given = name === defaultName(kind, call) ? '' : name
    lists.push('spawn', id, kind, given, pool, how, call, permissions, mail)
  }
  for (const { workerId, mail } of sends) lists.push('send', workerId, mail)
  for (const { id, ms, valueJson } of timers) lists.push('timer', id, ms, valueJson)
  addSlotEnd(lists, request, context)
  lists.push('.')
  return lists
}

/** What the slot does next. */
function addSlotEnd(lists: Argument[], request: CommitRequest, { nodeId, kindLists, policy }: CommitContext): void {
  const { wakeup, pool, wasBusy, end } = request
  if (end === undefined) return
  const { next } = end
  if (wasBusy) lists.push('wasBusy', '1')
  if (next === 'stay') return
  if (next === null) {
    lists.push('leave', wakeup)
    return
  }
  if (next.keepWakeup) lists.push('keepWakeup', '1')
  if (!next.maySuspect) lists.push('noSuspect', '1')
  lists.push('claim', wakeup, next.nonce, next.slot, nodeId, kindLists.get(pool) ?? ' ', policy.leaseMs)
  lists.push(policy.claimMailBytes, policy.suspectAfterStarts, policy.poisonAfterIsolatedStarts)
}

function addFacts(lists: Argument[], request: CommitRequest, policy: Policy): void {
  const { attempt, retrying, signalsConsumed, resultsConsumed, resultsSeen, pendingCalls, pendingCount, timersOpen } =
    request
  if (attempt !== 0) lists.push('attempt', retrying === '' ? attempt : `${attempt} ${retrying}`)
  if (signalsConsumed !== 0) lists.push('signalsConsumed', signalsConsumed)
  if (resultsConsumed.length > 0) lists.push('resultsConsumed', resultsConsumed.join(','))
  if (resultsSeen !== 0) lists.push('resultsSeen', resultsSeen)
  if (pendingCalls.length > 0) lists.push('pendingCalls', encodeCalls(pendingCalls))
  if (pendingCount !== 0) lists.push('pendingCount', pendingCount)
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
      const [, version, wakeups, claimed, spent, caps, assigned] = reply
      return {
        kind: 'ok',
        version: Number(version),
        wakeups: parseWakeups(wakeups),
        claimed: decodeClaim((claimed ?? null) as Reply | null, trustedUntil),
        ...(assigned == null ? {} : { assigned: assigned as string[], trustedUntil }),
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
      return {
        kind: 'refused',
        refusals: (reply[1] as [string, string, string][]).map(([reason, detail, id]) =>
          decodeRefusal(reason, detail, id),
        ),
      }
    default:
      throw new InvariantError(`commit answered ${JSON.stringify(reply[0])}`)
  }
}
