/** claim.lua, and the claims of shared/claims.lua that commit.lua makes as well. */
import type { ClaimCall, Claimed, Claiming, Granted } from './calls.ts'
import type { Mark, Store } from './records.ts'
import { cancelHit, dropBell, type Rules, record, starts, writeBell } from './shared-rules.ts'

interface Plan {
  readonly id: string
  readonly mark: Mark
  readonly suspect: boolean
}

/** The record before the claim, and the lanes that may be received from. */
function readGrant(store: Store, { id, mark, suspect }: Plan, token: Granted['token']): Granted {
  const { version, run, open, awaits, familyTaken, family, user } = record(store, id)
  return {
    kind: 'grant',
    worker: id,
    mark,
    token,
    suspect,
    version,
    run,
    open,
    awaits,
    familyTaken,
    family: open && awaits.length > 0 ? family : [],
    user: open ? [] : user,
  }
}

function planClaim(store: Store, claim: Claiming, rules: Rules): Plan | 'empty' | 'unfit' {
  let unfit = false
  for (const id of store.run) {
    const worker = record(store, id)
    const isSuspect = starts(worker) >= rules.suspectAfter
    let mark: Mark = 'run'
    if (rules.without !== 'cancel check of claims' && cancelHit(store, id, rules)) mark = 'cancelled'
    else if (worker.alone >= rules.poisonAfter) mark = 'poison'
    if (mark === 'run' && isSuspect && !claim.maySuspect) unfit = true
    else return { id, mark, suspect: isSuspect && mark === 'run' }
  }
  return unfit ? 'unfit' : 'empty'
}

export function claimNext(store: Store, claim: Claiming, rules: Rules): Claimed {
  const plan = planClaim(store, claim, rules)
  if (typeof plan === 'string') {
    if (claim.bell !== '') dropBell(store, claim.bell, claim.wasBusy)
    return { kind: plan }
  }
  const { id, mark, suspect } = plan
  const worker = record(store, id)
  const token = { epoch: worker.epoch + (rules.without === 'starts before work' ? 0 : 1), nonce: claim.nonce }
  const grant = readGrant(store, plan, token)
  store.run = store.run.filter((other) => other !== id)
  worker.place = 'running'
  worker.epoch = token.epoch
  worker.nonce = token.nonce
  if (suspect && rules.without !== 'starts before work') worker.alone++
  // A run starts: what the last one failed with is no longer true of this worker.
  if (mark === 'run' && !worker.open && worker.user.length > 0) worker.failed = false
  store.leases = [...store.leases.filter((lease) => lease.id !== id), { id, over: false }]
  store.grants[claim.node] = { nonce: claim.nonce, worker: id, mark }
  if (claim.bell !== '' && claim.keepBell) {
    writeBell(store, claim.bell)
    if (claim.wasBusy) store.busy = store.busy.filter((bell) => bell.id !== claim.bell)
  }
  return grant
}

const numberOf = (nonce: string): number => Number.parseInt(nonce, 10)

/** What this slot was answered under this nonce before; null: the nonce is new. */
export function sameGrant(store: Store, claim: Claiming, rules: Rules): Claimed | null {
  const held = store.grants[claim.node]
  if (held === undefined || rules.without === 'same grant') return null
  if (held.nonce !== claim.nonce) {
    const isOlder = numberOf(claim.nonce) < numberOf(held.nonce)
    return isOlder && rules.without !== 'older claims' ? { kind: 'empty' } : null
  }
  const worker = record(store, held.worker)
  if (worker.nonce !== claim.nonce) return { kind: 'empty' }
  const suspect = held.mark === 'run' && starts(worker) > rules.suspectAfter
  return readGrant(store, { id: held.worker, mark: held.mark, suspect }, { epoch: worker.epoch, nonce: worker.nonce })
}

export function claim(store: Store, call: ClaimCall, rules: Rules): Claimed {
  return sameGrant(store, call, rules) ?? claimNext(store, call, rules)
}
