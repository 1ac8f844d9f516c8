/** commit.lua, in its order: may this node write; check; write; children and mail; the end of a run; of the turn; the next claim. */
import type { Answer, Claimed, CommitCall } from '../calls.ts'
import { newRecord, type Store, type WorkerRecord } from '../records.ts'
import { claimNext, sameAssignment } from './claim-rules.ts'
import { writeLeft } from './gate-rules.ts'
import {
  dropWakeup,
  isRoot,
  type Rules,
  readCancellation,
  record,
  wakes,
  writeMail,
  writeQueued,
  writeRunLeftovers,
  writeWakeups,
} from './shared-rules.ts'

/** 1. May this node write, and has it not written this already? Null if it may go on. */
function mayWrite(store: Store, call: CommitCall, rules: Rules): Answer | null {
  const worker = record(store, call.worker)
  const { token, sequence } = call
  const claimedBefore = (): Claimed =>
    (call.next.nonce !== '' && sameAssignment(store, call.next, rules)) || { kind: 'none' }
  const last = worker.commit
  const isKnown = last?.nonce === token.nonce && last.epoch === token.epoch && sequence <= last.sequence
  if (isKnown && rules.without !== 'commit id')
    return {
      kind: 'committed',
      version: worker.version,
      wakeups: worker.wakeups,
      claimed: claimedBefore(),
      opensGate: false,
    }
  const holds = worker.nonce === token.nonce && worker.epoch === token.epoch
  if (!holds && rules.without !== 'token check') return { kind: 'fenced', claimed: claimedBefore() }
  if (worker.version !== call.version && rules.without !== 'version check')
    return { kind: 'conflict', version: worker.version }
  return null
}

/** 3. Writes the history, and takes mail. */
function writeStep(store: Store, worker: WorkerRecord, call: CommitCall): void {
  worker.log = [...worker.log, ...call.entries]
  if (call.dead) store.dead = [...store.dead, ...worker.inbox.slice(0, 1)]
  worker.inbox = worker.inbox.slice(call.inputsConsumed)
  worker.inputsTaken += call.inputsConsumed
  worker.signals = worker.signals.slice(call.signalsConsumed)
  worker.signalsTaken += call.signalsConsumed
  worker.signalsOpen = call.signalsOpen
  if (call.resultsConsumed.length > 0) {
    // Results are consumed in call order: those in the middle are emptied, and go when all before them have gone.
    const used = call.resultsConsumed.map((position) => position - worker.resultsTaken)
    const results = worker.results.map((text, place) => (used.includes(place) ? '' : text))
    const left = results.findIndex((text) => text !== '')
    const gone = left < 0 ? results.length : left
    worker.results = results.slice(gone)
    worker.resultsTaken += gone
  }
  worker.version = call.version + 1
  worker.open = call.open
  worker.commit = { ...call.token, sequence: call.sequence }
  worker.isolated = 0
  worker.pendingCalls = call.pendingCalls
  if (call.outcome !== '') worker.failed = call.outcome === 'failed'
}

/** 4. Writes the children. Returns whether somebody was queued. */
function writeChildren(store: Store, worker: WorkerRecord, call: CommitCall): boolean {
  const born = call.spawns.filter((spawn) => !store.workers[spawn.id])
  for (const { id, call: number, mail, detached } of born) {
    const path = [...worker.path, `${call.worker}:${detached ? '-' : worker.run}`]
    const parentRun = detached ? 0 : worker.run
    store.workers[id] = newRecord({ parent: call.worker, parentRun, call: number, path, inbox: [mail] })
    writeQueued(store, id)
  }
  return born.length > 0
}

/** 4. Writes the asks. */
function writeAsks(store: Store, worker: WorkerRecord, call: CommitCall): void {
  for (const { id, expires } of call.asks) {
    store.asks[id] = { worker: call.worker, run: worker.run, state: '', key: '', value: '', wakeups: [] }
    store.open = [...store.open, id]
    worker.asks = [...worker.asks, id]
    if (expires) store.timers = [...store.timers, id]
  }
}

/** 5. Writes the end of a run: its result goes to the parent or the session; what still runs below it is cancelled. */
function writeOutcome(
  store: Store,
  worker: WorkerRecord,
  call: CommitCall,
  hadSignals: boolean,
  rules: Rules,
): boolean {
  const { run } = worker
  const { session } = store
  worker.run = run + 1
  writeRunLeftovers(store, worker, { awaited: call.pendingCount > 0, hadSignals }, rules)
  if (call.pendingCount > 0 && rules.without !== 'children of an ended run') {
    session.cancelled = [
      ...session.cancelled.filter((mark) => mark !== `${call.worker}:${run}`),
      `${call.worker}:${run}`,
    ]
    session.unfinished = true
  }
  let touched = false
  if (call.result !== '' && worker.parent !== '' && run === 1) {
    const parent = store.workers[worker.parent]
    const isAwaited = parent?.open === true && parent.run === worker.parentRun
    const takesMail = parent !== undefined && parent.status !== 'terminal'
    if (takesMail && (isAwaited || rules.without === 'results of an old run'))
      touched = writeMail(store, worker.parent, 'results', call.result, rules)
  }
  if (
    isRoot(call.worker) &&
    session.mode !== 'conversation' &&
    call.outcome !== 'cancelled' &&
    worker.inbox.length === 0
  )
    session.state = call.outcome as 'completed' | 'failed'
  return touched
}

/** 6. Writes the end of the turn, and looks for a message that wakes the worker. If there is one, the worker is queued again. */
function writeEnd(
  store: Store,
  worker: WorkerRecord,
  call: CommitCall,
  hit: 'own' | 'whole' | null,
  rules: Rules,
): boolean {
  const ended = call.outcome !== '' && isRoot(call.worker) && ['completed', 'failed'].includes(store.session.state)
  let { wait } = call
  let again = false
  if (hit === 'whole') wait = 'any'
  else if (wait === 'again') {
    again = !ended
    wait = 'any'
  } else if (wait === 'any') {
    again = !ended && worker.inbox.length > 0 && rules.without !== 'end-of-turn check of inputs'
    if (!again && call.open) again = worker.signals.length + worker.results.length > 0
  } else if (worker.signals.length > 0 && rules.without !== 'end-of-turn check of signals') again = true
  else if (rules.without !== 'end-of-turn check of results') {
    const unseen = worker.results.slice(Math.max(call.resultsSeen, worker.resultsTaken) - worker.resultsTaken)
    again = unseen.some((text) => wakes('parked', wait, 'results', text))
  }
  worker.nonce = ''
  worker.wait = wait
  store.leases = store.leases.filter((lease) => lease.id !== call.worker)
  if (again) {
    worker.status = 'queued'
    writeQueued(store, call.worker)
  } else if (hit === 'whole') worker.status = 'terminal'
  else worker.status = call.open ? 'parked' : 'idle'
  return again
}

export function commit(store: Store, call: CommitCall, rules: Rules): Answer {
  const declined = mayWrite(store, call, rules)
  if (declined !== null) return declined
  const hit = readCancellation(store, call.worker, rules)
  if (hit !== null && call.outcome !== 'cancelled') return { kind: 'cancelled' }
  if (hit === null && call.outcome === 'cancelled' && rules.without !== 'end of a cancel that was lost')
    return { kind: 'conflict', version: record(store, call.worker).version }
  const worker = record(store, call.worker)
  const hadSignals = worker.signalsOpen > 0
  writeStep(store, worker, call)
  let touched = writeChildren(store, worker, call)
  const opensGate = call.outcome !== '' && writeLeft(store, call.worker, worker, rules)
  if (call.outcome === '') writeAsks(store, worker, call)
  else touched = writeOutcome(store, worker, call, hadSignals, rules) || touched
  if (call.wait !== '') touched = writeEnd(store, worker, call, hit, rules) || touched
  // 7. Finds the slot's next worker, then applies the wake-up rule.
  let claimed: Claimed = { kind: 'none' }
  if (call.wait !== '' && call.next.nonce !== '') {
    claimed = claimNext(store, call.next, rules)
    touched ||= claimed.kind === 'unfit'
  } else if (call.wait !== '' && call.next.wakeup !== '') {
    dropWakeup(store, call.next.wakeup, call.next.wasBusy)
    touched ||= rules.without !== 'wake-up rule: a turn that leaves'
  }
  worker.wakeups = []
  const wakeups = touched ? writeWakeups(store, call.seed, rules) : []
  // The next claim may be of this very worker: its record is the same one.
  worker.wakeups = wakeups
  return { kind: 'committed', version: call.version + 1, wakeups, claimed, opensGate }
}
