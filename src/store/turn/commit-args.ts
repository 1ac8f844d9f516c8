/** Duty: the form of a commit's arguments and answers, as the header of lua/turn/commit.lua has them. */

import { defaultName } from '../../core/definition/worker-name.ts'
import { InvariantError } from '../../core/errors.ts'
import type { Policy } from '../../core/policy.ts'
import type { AskOrder, CommitAnswer, CommitRequest, NextClaim, SlotNext, SpawnOrder } from '../../core/ports/ports.ts'
import { decodeSteered } from '../../core/worker/message/steer.ts'
import { decodeRefusal } from '../../core/worker/refusal.ts'
import type { CallCost } from '../../core/worker/run/cost.ts'
import { decodeClaim, decodeSpendings, readApproval } from '../record/assignment.ts'
import { encodeCalls } from '../record/call-ranges.ts'
import type { HeaderValue, Reply } from '../script/script.ts'
import { parseWakeups } from '../wakeups.ts'

type Fields = Record<string, HeaderValue | undefined>

/**
 * One commit among those of a script: its fields in the header, and its texts, which the fields name by their numbers. Whoever sends it sets `texts`
 * to where its texts begin.
 */
export interface CommitArgs {
  readonly fields: Fields
  readonly texts: readonly string[]
}

export function commitArgs(request: CommitRequest, policy: Policy): CommitArgs {
  const { workerId, token, sequence, version, runState, entries, spawns, offer, sends, timers, end } = request
  const texts = [...entries]
  const add = (text: string) => texts.push(text) - 1
  const addOnce = addingOnce(add)
  // Fields are set one by one, because V8 makes a dictionary of an object that is spread with so many, and JSON of dictionaries takes twice as long.
  const fields: Fields = { texts: 0, worker: workerId, token, sequence, version, runState, entries: entries.length }
  addRun(fields, request)
  addContent(fields, request, policy, add)
  if (request.event !== '') fields.event = add(request.event)
  if (request.costs?.length) fields.costs = request.costs.map(costFields)
  if (request.childrenAtOnce !== undefined) fields.atOnce = request.childrenAtOnce
  if (spawns.length > 0) fields.spawns = spawnsFields(spawns, offer?.takes ?? [], add, addOnce)
  if (offer) fields.inline = { slot: offer.slot, nonce: offer.nonce }
  if (sends.length > 0)
    fields.sends = sends.map(({ workerId, mail, reach, when }) => ({ worker: workerId, mail: add(mail), reach, when }))
  if (timers.length > 0) fields.timers = timers.map(({ id, ms, valueJson }) => ({ id, ms, value: add(valueJson) }))
  if (request.asks.length > 0) fields.asks = request.asks.map((ask) => askFields(ask, add))
  if (request.cancels?.length) fields.cancels = request.cancels.map((id) => ({ id }))
  if (request.withdraws.length > 0) fields.withdraws = request.withdraws.map((id) => ({ id }))
  if (end) {
    fields.wait = end.wait
    if (end.retryMs !== undefined) fields.retryMs = end.retryMs
    if (end.isUncounted) fields.isUncounted = true
    if (end.isUncounted && end.isIsolated) fields.isIsolated = true
    if (end.turnMs) fields.turnMs = end.turnMs
    addSlot(fields, request, end.next)
  }
  return { fields, texts }
}

/** Adds how the run goes on. A field with the value of a new run is left out. */
function addRun(fields: Fields, request: CommitRequest): void {
  const { open, attempt, retrying, inputsConsumed, signalsConsumed, resultsConsumed, resultsSeen } = request
  const { steersTaken, steersUnseenFrom, pendingCalls, pendingCount, openChildren, signalsOpen, steps } = request
  if (open) fields.open = open
  if (inputsConsumed) fields.inputsConsumed = inputsConsumed
  if (signalsConsumed) fields.signalsConsumed = signalsConsumed
  if (resultsConsumed.length > 0) fields.resultsConsumed = resultsConsumed
  if (request.largeTaken?.length) fields.largeTaken = request.largeTaken
  if (resultsSeen) fields.resultsSeen = resultsSeen
  if (steersTaken !== undefined) fields.steersTaken = steersTaken
  if (steersUnseenFrom !== undefined) fields.steersUnseenFrom = steersUnseenFrom
  if (pendingCalls.length > 0) fields.pendingCalls = encodeCalls(pendingCalls)
  if (pendingCount) fields.pendingCount = pendingCount
  if (openChildren?.length) fields.openChildren = openChildren
  if (signalsOpen) fields.signalsOpen = signalsOpen
  if (steps) fields.steps = steps
  if (attempt !== 0) fields.attempt = `${attempt} ${retrying}`.trimEnd()
}

function addContent(fields: Fields, request: CommitRequest, policy: Policy, add: (text: string) => number): void {
  const { stateJson, configured, failure, outcome, result, dead } = request
  if (outcome !== undefined) fields.outcome = outcome
  // A value over 64 bytes gets a key of its own, so that the record stays small in memory.
  if (stateJson !== undefined) fields[Buffer.byteLength(stateJson) <= 64 ? 'state' : 'stateKey'] = add(stateJson)
  if (configured !== undefined) fields.configured = add(configured)
  if (failure === null) fields.clearsFailure = true
  else if (failure !== undefined) fields.failure = add(JSON.stringify(failure))
  if (result !== undefined) fields.result = add(result)
  if (dead !== undefined) {
    fields.dead = add(dead)
    fields.deadKept = policy.deadLettersKept
  }
}

/** Siblings mostly have the same permissions: a text that was added before keeps its number. */
function addingOnce(add: (text: string) => number): (text: string) => number {
  const numbers = new Map<string, number>()
  return (text) => {
    const number = numbers.get(text) ?? add(text)
    numbers.set(text, number)
    return number
  }
}

/** Siblings that differ in nothing but their calls and inputs go as ids behind the first of them: Redis decodes a thousand of them. */
function spawnsFields(
  spawns: readonly SpawnOrder[],
  takes: readonly boolean[],
  add: (text: string) => number,
  addOnce: (text: string) => number,
): Fields[] {
  const all: Fields[] = []
  let more: string[] | undefined
  for (const [index, spawn] of spawns.entries()) {
    const before = spawns[index - 1]
    const isAsBefore = before !== undefined && isSibling(spawn, before) && takes[index] === takes[index - 1]
    const { permissions } = spawn
    const named = permissions ? addOnce(permissions) : undefined
    const mail = add(spawn.mail)
    if (!isAsBefore) {
      more = undefined
      all.push({ ...spawnFields(spawn, before), mail, permissions: named, offered: takes[index] || undefined })
    } else if (more === undefined) {
      more = [spawn.id]
      Object.assign(all.at(-1) as Fields, { more })
    } else {
      more.push(spawn.id)
    }
  }
  return all
}

function isSibling(spawn: SpawnOrder, before: SpawnOrder): boolean {
  const { kind, pool, detached, permissions, call } = spawn
  const isAlike = kind === before.kind && pool === before.pool && detached === before.detached
  const hasNoNames = hasDefaultName(spawn) && hasDefaultName(before)
  return isAlike && hasNoNames && (permissions ?? '') === (before.permissions ?? '') && call === before.call + 1
}

const hasDefaultName = ({ name, kind, call }: SpawnOrder) => name === defaultName(kind, call)

/** What is as of the child before is left out. */
function spawnFields(spawn: SpawnOrder, before: SpawnOrder | undefined): Fields {
  const { id, kind, name, pool, detached, call } = spawn
  return {
    id,
    kind: kind === before?.kind ? undefined : kind,
    pool: pool === before?.pool ? undefined : pool,
    call: call === (before?.call ?? 0) + 1 ? undefined : call,
    name: hasDefaultName(spawn) ? undefined : name,
    detached: detached || undefined,
  }
}

function costFields({ model, inputTokens, outputTokens, microUsd }: CallCost): Fields {
  return { model, tokensIn: inputTokens, tokensOut: outputTokens, micros: microUsd ?? undefined }
}

function askFields({ id, sort, body, expiry }: AskOrder, add: (text: string) => number): Fields {
  return { id, sort, body: add(body), ms: expiry?.ms, onExpiry: expiry && add(expiry.answer) }
}

/** Adds what the slot does next. */
function addSlot(fields: Fields, { wakeup, wasBusy }: CommitRequest, next: SlotNext): void {
  if (next === 'stay') return
  if (next === null) {
    fields.leave = wakeup
    if (wasBusy) fields.wasBusy = true
    return
  }
  fields.claim = claimFields(next, wakeup, wasBusy)
}

/** What is false is left out. */
export function claimFields({ slot, nonce, maySuspect, keepWakeup }: NextClaim, wakeup: string, wasBusy: boolean) {
  return {
    wakeup,
    slot,
    nonce,
    maySuspect: maySuspect || undefined,
    wasBusy: wasBusy || undefined,
    keepWakeup: keepWakeup || undefined,
  }
}

export function decodeCommit(reply: Reply, trustedUntil: number): CommitAnswer {
  switch (reply[0]) {
    case 'ok': {
      const [, version, wakeups, claimed, spent, caps, assigned, paused, approval, steered, opens] = reply
      return {
        kind: 'ok',
        version: Number(version),
        wakeups: parseWakeups(wakeups),
        claimed: decodeClaim((claimed ?? null) as Reply | null, trustedUntil),
        ...(assigned == null ? {} : { assigned: assigned as string[], trustedUntil }),
        ...(paused == null ? {} : { isPaused: true }),
        ...(steered == null ? {} : { steered: decodeSteered(steered as string) }),
        ...(opens == null ? {} : { opensGate: true }),
        spending: decodeSpendings(spent as string | null, caps as string | null),
        approval: readApproval(approval as string | null | undefined),
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
