/** enter.lua, and what commit.lua, finish.lua and fire.lua do at the gate of the kind: of the sort `runs`, for all its runs. */
import type { Answer, EnterCall } from '../calls.ts'
import type { Store, WorkerRecord } from '../records.ts'
import { type Rules, readCancellation, record, writeQueued } from './shared-rules.ts'

/** How many runs may be in progress at once. */
export const gateMost = 1

export function enter(store: Store, call: EnterCall, rules: Rules): Answer {
  const worker = record(store, call.worker)
  const { commit, gates } = worker
  const isOfThisTurn = commit?.nonce === call.token.nonce && commit.epoch === call.token.epoch
  if (isOfThisTurn && commit.sequence === 0 && rules.without !== 'a run that waits is told so again')
    return { kind: 'waits' }
  const holds = worker.nonce === call.token.nonce && worker.epoch === call.token.epoch && worker.status === 'running'
  if (!holds && rules.without !== 'token check of enter') return { kind: 'fenced', claimed: { kind: 'none' } }
  if (isOfThisTurn && rules.without !== 'a run that has ended does not begin again') return { kind: 'in' }
  if (gates === 'in' && rules.without !== 'a run begins once') return { kind: 'in' }
  if (readCancellation(store, call.worker, rules) !== null && rules.without !== 'cancel check of enter')
    return { kind: 'cancelled' }
  const isFull = store.gate.in.length >= gateMost && rules.without !== 'no more runs than a gate allows'
  const isBehind = store.gate.waiting.length > 0 && rules.without !== 'nobody overtakes at a gate'
  if (!isFull && !isBehind) {
    writeBegun(store, call.worker)
    return { kind: 'in' }
  }
  store.gate = { ...store.gate, waiting: [...store.gate.waiting, call.worker], isListed: true }
  Object.assign(worker, { gates: 'runs', status: 'parked', wait: 'gate', nonce: '', isolated: 0 })
  worker.commit = { ...call.token, sequence: 0 }
  if (rules.without !== 'who waits at a gate holds no lease')
    store.leases = store.leases.filter(({ id }) => id !== call.worker)
  return { kind: 'waits' }
}

function writeBegun(store: Store, id: string): void {
  store.gate = { ...store.gate, in: [...store.gate.in.filter((other) => other !== id), id], isListed: true }
  record(store, id).gates = 'in'
}

/** The run of this record is over. Tells whether somebody waits for its place. */
export function writeLeft(store: Store, id: string, worker: WorkerRecord, rules: Rules): boolean {
  const { gates } = worker
  if (gates === '' || gates === 'out') return false
  worker.gates = 'out'
  const without = (ids: readonly string[]) => ids.filter((other) => other !== id)
  if (gates === 'runs') {
    store.gate = { ...store.gate, waiting: without(store.gate.waiting) }
    return false
  }
  if (rules.without !== 'a run that ends frees its place') store.gate = { ...store.gate, in: without(store.gate.in) }
  const isAwaited = store.gate.waiting.length > 0
  if (!isAwaited && store.gate.in.length === 0) store.gate = { ...store.gate, isListed: false }
  return isAwaited
}

/** Lets the runs begin that may, in the order in which they came. Returns how many. */
export function writeAdmitted(store: Store): number {
  let began = 0
  for (const id of store.gate.waiting) {
    if (store.gate.in.length >= gateMost) break
    store.gate = { ...store.gate, waiting: store.gate.waiting.filter((other) => other !== id) }
    const worker = record(store, id)
    if (worker.status !== 'parked' || worker.gates !== 'runs') continue
    writeBegun(store, id)
    writeQueued(store, id)
    Object.assign(worker, { status: 'queued', wait: 'any' })
    began++
  }
  const isListed = store.gate.waiting.length + store.gate.in.length > 0
  store.gate = { ...store.gate, isListed }
  return began
}
