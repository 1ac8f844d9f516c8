/**
 * The scripts as a pure function: a store and a call give the store afterwards and the answer. It is to be read beside
 * src/store/lua: the same order, the same names. It knows one session, one pool and one kind. It knows no timers of handlers, retries, limits,
 * assignments, shares, register of nodes or events.
 */

import type { Answer, Call, PostCall, RenewCall, SpawnCall, SweepCall } from '../calls.ts'
import { copyStore, newRecord, rootId, type Store } from '../records.ts'
import { answer, fire } from './ask-rules.ts'
import { claim } from './claim-rules.ts'
import { commit } from './commit-rules.ts'
import { enter, writeLeft } from './gate-rules.ts'
import {
  out,
  type Rules,
  readCancellation,
  record,
  writeMail,
  writeQueued,
  writeRunLeftovers,
  writeWakeup,
  writeWakeups,
} from './shared-rules.ts'

export interface Reduced {
  readonly store: Store
  readonly answer: Answer
}

export function reduce(before: Store, call: Call, rules: Rules): Reduced {
  const store = copyStore(before)
  return { store, answer: run(store, call, rules) }
}

function run(store: Store, call: Call, rules: Rules): Answer {
  switch (call.kind) {
    case 'spawn':
      return spawn(store, call, rules)
    case 'post':
      return post(store, call, rules)
    case 'answer':
      return answer(store, call, rules)
    case 'fire':
      return fire(store, call, rules)
    case 'claim':
      return claim(store, call, rules)
    case 'enter':
      return enter(store, call, rules)
    case 'commit':
      return commit(store, call, rules)
    case 'renew':
      return renew(store, call, rules)
    case 'sweep':
      return sweep(store, call, rules)
    case 'cancel':
      return cancel(store)
    case 'finish':
      return finish(store, rules)
  }
}

function spawn(store: Store, call: SpawnCall, rules: Rules): Answer {
  if (store.session.state !== 'absent') return { kind: 'again', position: 0, wakeups: store.session.wakeups }
  store.session.state = 'active'
  store.session.mode = call.mode
  store.workers[rootId] = newRecord({ inbox: [call.mail] })
  writeQueued(store, rootId)
  const wakeups = writeWakeups(store, call.seed, rules)
  store.session.wakeups = wakeups
  return { kind: 'ok', position: 0, wakeups }
}

function post(store: Store, call: PostCall, rules: Rules): Answer {
  const known = store.idem[call.key]
  if (known && rules.without !== 'dedupe of posts') return { kind: 'again', ...known }
  const worker = store.workers[call.worker]
  if (worker === undefined) return { kind: 'not_found' }
  if (worker.status === 'terminal') return { kind: 'terminal' }
  if (store.session.state !== 'active') return { kind: 'session_finished', state: store.session.state }
  const position = worker.inputsTaken + worker.inbox.length
  const isWoken = writeMail(store, call.worker, 'inbox', call.mail, rules)
  const wakeups = isWoken ? writeWakeups(store, call.seed, rules) : []
  store.idem[call.key] = { position, wakeups }
  return { kind: 'ok', position, wakeups }
}

function renew(store: Store, call: RenewCall, rules: Rules): Answer {
  const worker = record(store, call.worker)
  if (worker.nonce !== call.token.nonce || worker.epoch !== call.token.epoch)
    return { kind: 'verdict', verdict: 'fenced', wakeups: [] }
  const verdict = readCancellation(store, call.worker, rules) === null ? 'kept' : 'cancelled'
  store.leases = [...store.leases.filter(({ id }) => id !== call.worker), { id: call.worker, over: false }]
  if (call.wakeup === '') return { kind: 'verdict', verdict, wakeups: [] }
  if (rules.without !== 'wake-up rule: long turns') store.wakeups = store.wakeups.filter(({ id }) => id !== call.wakeup)
  store.busy = [...store.busy.filter(({ id }) => id !== call.wakeup), { id: call.wakeup, over: false }]
  return { kind: 'verdict', verdict, wakeups: writeWakeups(store, call.seed, rules) }
}

function sweep(store: Store, call: SweepCall, rules: Rules): Answer {
  const expired = store.leases.filter(({ over }) => over)
  for (const { id } of expired) {
    const worker = record(store, id)
    worker.status = 'queued'
    if (rules.without !== 'token cleared with the lease') worker.nonce = ''
    writeQueued(store, id)
  }
  store.leases = store.leases.filter(({ over }) => !over)
  if (rules.without !== 'stale wake-ups') store.wakeups = store.wakeups.filter(({ over }) => !over)
  store.busy = store.busy.filter(({ over }) => !over)
  // It sends nothing: it puts wake-ups for its node's free slots alone, which that node answers itself.
  const alreadyOut = out(store.wakeups, rules)
  const fit = Math.min(store.run.length, call.free + alreadyOut)
  const wakeups = Array.from(
    { length: Math.max(0, Math.min(fit - alreadyOut, call.free)) },
    (_, index) => `b${call.seed + index}`,
  )
  if (call.free === 0) wakeups.length = 0
  for (const wakeup of wakeups) writeWakeup(store, wakeup)
  return { kind: 'swept', healed: expired.length, wakeups }
}

function cancel(store: Store): Answer {
  const { session } = store
  if (session.state === 'absent') return { kind: 'not_found' }
  if (session.state === 'cancelling') return { kind: 'done' }
  if (session.state !== 'active') return { kind: 'session_finished', state: session.state }
  session.state = 'cancelling'
  session.cancelled = [...session.cancelled, `${rootId}:*`]
  session.unfinished = true
  return { kind: 'done' }
}

/** Does one pass in one batch. */
function finish(store: Store, rules: Rules): Answer {
  const { session } = store
  let running = 0
  for (const id of Object.keys(store.workers)) {
    const worker = record(store, id)
    const hit = worker.status === 'terminal' ? null : readCancellation(store, id, rules)
    if (hit === null) continue
    if (worker.status === 'running' && rules.without !== 'finish spares running turns') {
      running++
      continue
    }
    const isInRun = worker.open || worker.status === 'queued' || worker.wait === 'gate'
    const left = { awaited: worker.pendingCalls.length > 0, hadSignals: worker.signalsOpen > 0 }
    writeRunLeftovers(store, worker, left, rules)
    store.run = store.run.filter((other) => other !== id)
    const parent = store.workers[worker.parent]
    // The parent waits in a turn: a parent that rests was cancelled before this worker, in the same pass.
    const isReported = parent?.open === true && worker.run === 1 && parent.run === worker.parentRun
    if (isReported && isInRun) writeMail(store, worker.parent, 'results', `result:${id}`, rules)
    writeLeft(store, id, worker, rules)
    if (isInRun) {
      worker.log = [...worker.log, 'cancelled']
      worker.run++
      worker.version++
    }
    worker.status = hit === 'whole' ? 'terminal' : 'idle'
    const atStart = { wait: 'any', open: false, pendingCalls: [], signalsOpen: 0, nonce: '' }
    Object.assign(worker, { ...atStart, epoch: worker.commit?.epoch ?? 0 })
  }
  if (running > 0) return { kind: 'wait' }
  session.cancelled = []
  session.unfinished = false
  if (session.state === 'cancelling') session.state = 'cancelled'
  return { kind: 'done' }
}

/** Time passes: the lease of this worker, or this wake-up, is over. Leases are swept in the order in which they ended. */
export function letPass(before: Store, what: { readonly lease: string } | { readonly wakeup: string }): Store {
  const store = copyStore(before)
  if ('lease' in what) {
    const ended = store.leases.filter(({ id }) => id === what.lease).map((lease) => ({ ...lease, over: true }))
    store.leases = [...store.leases.filter(({ id }) => id !== what.lease), ...ended]
  } else for (const wakeup of [...store.wakeups, ...store.busy]) wakeup.over ||= wakeup.id === what.wakeup
  return store
}
