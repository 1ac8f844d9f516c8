/** claim.lua, and the claims of shared/turn/claims.lua that commit.lua makes as well. */
import type { Assigned, ClaimCall, Claimed, Claiming } from '../calls.ts'
import type { Mark, Store } from '../records.ts'
import { dropWakeup, type Rules, readCancellation, record, starts, writeWakeup } from './shared-rules.ts'

interface Plan {
  readonly id: string
  readonly purpose: Mark
  readonly suspect: boolean
}

/** The record before the claim, and the lanes that may be received from. */
function readAssignment(store: Store, { id, purpose, suspect }: Plan, token: Assigned['token']): Assigned {
  const { version, run, open, gates, pendingCalls, resultsTaken, results, signalsOpen, signals, inbox } = record(
    store,
    id,
  )
  return {
    kind: 'assigned',
    worker: id,
    purpose,
    token,
    suspect,
    version,
    run,
    open,
    gates,
    pendingCalls,
    resultsTaken,
    signalsOpen,
    signals: open && signalsOpen > 0 ? signals : [],
    results: open && pendingCalls.length > 0 ? results : [],
    inbox: open ? [] : inbox,
  }
}

function planClaim(store: Store, claim: Claiming, rules: Rules): Plan | 'empty' | 'unfit' {
  let unfit = false
  for (const id of store.run) {
    const worker = record(store, id)
    const isSuspect = starts(worker) >= rules.suspectAfter
    let purpose: Mark = 'run'
    if (rules.without !== 'cancel check of claims' && readCancellation(store, id, rules)) purpose = 'cancelled'
    else if (worker.isolated >= rules.poisonAfter) purpose = 'poison'
    if (purpose === 'run' && isSuspect && !claim.maySuspect) unfit = true
    else return { id, purpose, suspect: isSuspect && purpose === 'run' }
  }
  return unfit ? 'unfit' : 'empty'
}

export function claimNext(store: Store, claim: Claiming, rules: Rules): Claimed {
  const plan = planClaim(store, claim, rules)
  if (typeof plan === 'string') {
    if (claim.wakeup !== '') dropWakeup(store, claim.wakeup, claim.wasBusy)
    return { kind: plan }
  }
  const { id, purpose, suspect } = plan
  const worker = record(store, id)
  const token = { epoch: worker.epoch + (rules.without === 'starts before work' ? 0 : 1), nonce: claim.nonce }
  const assignment = readAssignment(store, plan, token)
  store.run = store.run.filter((other) => other !== id)
  worker.status = 'running'
  worker.epoch = token.epoch
  worker.nonce = token.nonce
  if (suspect && rules.without !== 'starts before work') worker.isolated++
  // When a run starts, the failure of the last one is no longer true of this worker.
  if (purpose === 'run' && !worker.open && worker.inbox.length > 0) worker.failed = false
  store.leases = [...store.leases.filter((lease) => lease.id !== id), { id, over: false }]
  store.assignments[claim.node] = { nonce: claim.nonce, worker: id, purpose }
  if (claim.wakeup !== '' && claim.keepWakeup) {
    writeWakeup(store, claim.wakeup)
    if (claim.wasBusy) store.busy = store.busy.filter((wakeup) => wakeup.id !== claim.wakeup)
  }
  return assignment
}

const numberOf = (nonce: string): number => Number.parseInt(nonce, 10)

/** The answer that this slot got under this nonce before; null if the nonce is new. */
export function sameAssignment(store: Store, claim: Claiming, rules: Rules): Claimed | null {
  const held = store.assignments[claim.node]
  if (held === undefined || rules.without === 'same assignment') return null
  if (held.nonce !== claim.nonce) {
    const isOlder = numberOf(claim.nonce) < numberOf(held.nonce)
    return isOlder && rules.without !== 'older claims' ? { kind: 'empty' } : null
  }
  const worker = record(store, held.worker)
  if (worker.nonce !== claim.nonce) return { kind: 'empty' }
  const suspect = held.purpose === 'run' && starts(worker) > rules.suspectAfter
  return readAssignment(
    store,
    { id: held.worker, purpose: held.purpose, suspect },
    { epoch: worker.epoch, nonce: worker.nonce },
  )
}

export function claim(store: Store, call: ClaimCall, rules: Rules): Claimed {
  return sameAssignment(store, call, rules) ?? claimNext(store, call, rules)
}
