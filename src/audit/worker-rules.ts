/** Duty: the rules for one worker, by its picture and its history: its status, its mail, its timers, its runs. */

import { preview } from '../core/check/preview.ts'
import { isTally } from '../core/history/run/agent-tally.ts'
import { policy } from '../core/policy.ts'
import {
  callOfHeadAlone,
  decodeHead,
  inputIdOf,
  type Lane,
  lanes,
  resultChildOf,
} from '../core/worker/message/message.ts'
import type { Failure } from '../core/worker/run/failure.ts'
import { encodeWait, endsWait, isForScript, type Wait } from '../core/worker/wait.ts'
import type { SessionPicture, WorkerPicture } from '../store/audit/audit-picture.ts'
import { takenOf } from '../store/record/worker-record.ts'
import { idText, type Say } from './finding.ts'
import type { HistoryFold } from './history-fold.ts'

/** A worker at one moment, with its history up to then. */
export interface Seen {
  readonly picture: WorkerPicture
  readonly fold: HistoryFold
  readonly session: SessionPicture
  readonly say: Say
}

export const isAgent = ({ record }: WorkerPicture) => isTally(record.data)
export const isOpen = ({ record }: WorkerPicture) => record.isOpen
/** True while the session is being cancelled. */
export const isCancelling = ({ record }: SessionPicture) =>
  record !== null && record.cancelReasonJson !== null && record.end === null

/** How many messages a lane ever accepted: those that were taken, and those that it holds. */
export function acceptedIn(picture: WorkerPicture, lane: Lane): number {
  return takenOf(picture.record, lane) + picture.lanes[lane].length
}

export function workerRules(seen: Seen): void {
  placeRules(seen)
  wakeRules(seen)
  timerRules(seen)
  askRules(seen)
  historyRules(seen)
  openRunRules(seen)
  consumedRules(seen)
  largeRules(seen)
  failureRules(seen)
  startRules(seen)
  gateRules(seen)
}

// I7, I9: the status of a worker agrees with the sets.
function placeRules({ picture, say }: Seen): void {
  const { record, queuedIn, isLeased } = picture
  const { status, token, pool, wait } = record
  const isQueued = status === 'queued'
  if (isQueued && !picture.unreadPools.includes(pool) && !queuedIn.includes(pool))
    say('I7', 'line', `it is queued and not in the run queue of pool ${pool}`)
  if (isQueued && queuedIn.includes(pool) && !picture.pools.includes(pool))
    say('I7', 'unknown-line', `it is in the run queue of pool ${pool}, which is not registered: no node looks at it`)
  const elsewhere = queuedIn.filter((name) => !isQueued || name !== pool)
  if (elsewhere.length > 0)
    say('I7', 'elsewhere', `it is ${status} in pool ${pool} and stands in the run queue of ${elsewhere.join(', ')}`)
  if (status === 'running' && isLeased === false)
    say('I7', 'lease', 'it is running and holds no lease: no sweep would take it back')
  if (status !== 'running' && isLeased) say('I7', 'leased', `it is ${status} and holds a lease`)
  const holds = /^\d+:./.test(token)
  if (status === 'running' && !holds) say('I7', 'no-token', 'it is running and has no token: nobody can write for it')
  if (status !== 'running' && holds) say('I7', 'token', `it is ${status} and has a token: ${token}`)
  if (status === 'parked' && !isOpen(picture) && !isForScript(wait))
    say('I9', 'parked', 'it is parked and no run is open')
  if (status === 'idle' && isOpen(picture)) say('I9', 'idle', 'it is idle and a run is open')
}

// I7: nothing in the mailbox of a resting worker ends its wait. A queued worker has something to do.
function wakeRules(seen: Seen): void {
  const { picture, say } = seen
  const { record, lanes } = picture
  const { status, wait } = record
  if (status === 'idle' && lanes.inbox.length > 0)
    say('I7', 'asleep', `it is idle and ${lanes.inbox.length} inputs wait in its mailbox`)
  if (status === 'parked' && isThere(picture, wait))
    say('I7', 'asleep', `it is parked and what it waits for (${encodeWait(wait)}) is in its mailbox`)
  if (status === 'queued' && !isCancelled(seen) && !hasWork(seen))
    say('I1', 'nothing', 'it is queued and nothing is in its mailbox: what woke it is gone')
}

/** True if a message in its mailbox ends the wait. */
function isThere(picture: WorkerPicture, wait: Wait): boolean {
  return lanes.some((lane) => {
    const { heads, length } = picture.lanes[lane]
    const count = acceptedIn(picture, lane)
    // The child of a result whose head was not read is not known.
    const children = heads.length < length ? [...heads.map(resultChildOf), undefined] : heads.map(resultChildOf)
    return children.some((child) => endsWait(wait, { lane, child, count }))
  })
}

function hasWork({ picture, fold }: Seen): boolean {
  const { record, lanes } = picture
  if (!isOpen(picture)) return lanes.inbox.length > 0 || fold.owedOrder !== null
  if (isAgent(picture) || lanes.signals.length > 0 || !lanes.results.isWhole) return true
  const [next] = record.pendingCalls
  return lanes.results.heads.map(decodeHead).some((head) => head?.kind === 'result' && head.call === next)
}

/** True if it is cancelled, or may be. */
function isCancelled({ session }: Seen): boolean {
  return session.damage.length > 0 || session.cancelled.length > 0 || isCancelling(session)
}

// I9: every timer fires and every ask ends, and then the worker receives it.
function timerRules({ picture, say }: Seen): void {
  const { timers, openAsks, hasRetryTimer } = picture
  if (picture.record.status === 'parked' && picture.record.wait.kind === 'retry' && hasRetryTimer === false)
    say('I9', 'retry', 'it waits for a retry that is never due')
  // Its worker was pruned before they could be read.
  if (!picture.hasSignals) return
  const { record, lanes } = picture.signalsAt ?? picture
  for (const { id, isTimed } of timers)
    if (isTimed === false) say('I9', `timer-${id}`, `timer ${id} has a value and is never due`)
  const open = record.signalsOpen
  const there = timers.length + openAsks.length + lanes.signals.length
  // A running worker may have received signals whose commit is not here yet. They stay in the lane until then.
  if (open !== there) say('I9', 'signals', `${open} of its signals are open, ${there} are there`)
}

// I9: every open ask can be found, can be answered, and expires when it should.
function askRules({ picture, say }: Seen): void {
  const { run: current } = (picture.signalsAt ?? picture).record
  for (const { id, workerId, run, state, isInInbox, isTimed, damage } of picture.openAsks) {
    const ask = `ask ${idText(id)}`
    if (damage.length > 0) say('key', 'damaged', damage.join('; '))
    else if (workerId === '') say('I9', `ask-${id}`, `${ask} is open and has no record: nobody can answer it`)
    else if (workerId !== picture.id)
      say('I9', `ask-${id}`, `${ask} is open, and its record is of worker ${idText(workerId)}`)
    else if (state !== '') say('I9', `ask-${id}`, `${ask} is open, and its record says ${preview(state)}`)
    else if (run !== current) say('I9', `ask-${id}`, `${ask} of run ${run} is open, and run ${current} is under way`)
    if (isInInbox === false) say('I9', `inbox-${id}`, `${ask} is open and not in the inbox: nobody is shown it`)
    if (isTimed === false) say('I9', `expiry-${id}`, `${ask} expires and is never due`)
  }
}

// I4, I5: the record and the history agree on the runs.
function historyRules({ picture, fold, say }: Seen): void {
  const { record, historyLength } = picture
  if (historyLength > 0 && record.lastCommit.version < 1) say('I4', 'version', 'it has a history and no commit')
  if (record.run !== fold.run) say('I4', 'runs', `its record is at run ${record.run}, its history at run ${fold.run}`)
  const { epoch } = record
  if (fold.lastEpoch > epoch) say('I5', 'ahead', `epoch ${fold.lastEpoch} is in its history, ${epoch} in its record`)
}

// I1, I4: the record and the history agree on what the open run waits for.
function openRunRules({ picture, fold, say }: Seen): void {
  const { open } = fold
  const { record } = picture
  // A handler may have recorded a step before its run is open.
  if (record.steps !== open.steps)
    say('I4', 'steps', `its run has ${record.steps} steps by its record, ${open.steps} by its history`)
  if (!isOpen(picture)) {
    if (open.received.input + open.received.result + open.received.signal > 0)
      say('I4', 'unended', `run ${fold.run} is in its history, is not open and has no end`)
    return
  }
  const pendingCalls = record.pendingCalls.join()
  const missing = open.missing.map((child) => open.joined.get(child)).join()
  if (pendingCalls !== missing)
    say('I8', 'pendingCalls', `it awaits the calls ${pendingCalls || 'none'}; by its history ${missing || 'none'}`)
  const signals = open.signalsAsked - open.received.signal + (open.repeated === null ? 0 : 1)
  if (record.signalsOpen !== signals)
    say('I4', 'signals', `${record.signalsOpen} signals are open by its record, ${signals} by its history`)
  if (record.calls !== open.calls)
    say('I4', 'calls', `it has made ${record.calls} spawning calls by its record, ${open.calls} by its history`)
  if (open.received.input === 0) say('I1', 'input', `run ${fold.run} is open and the input that began it is not there`)
}

// I1, I16: every consumed message is in the history or among the dead letters.
function consumedRules({ picture, fold, say }: Seen): void {
  const { record, lanes } = picture
  // An input that a run took before its turn stays in the lane as an empty one until those before it have gone.
  const { heads, length } = lanes.inbox
  const consumed = record.inputsTaken + heads.filter((head) => head === '').length
  const most = consumed + length - heads.length
  const known = fold.inputs + fold.deadRuns + fold.orders
  if (known < consumed || known > most) {
    const which =
      fold.holes.size > fold.deadRuns ? `; message ${[...fold.holes].map(inputIdOf).join(', ')} is not there` : ''
    const what = `${consumed} inputs were consumed, ${fold.inputs} are in its history, ${fold.deadRuns} dead${which}`
    say(consumed > known ? 'I1' : 'I2', 'inputs', what)
  }
  const results = fold.total('result')
  const taken = record.resultsTaken + lanes.results.heads.filter((head) => head === '').length
  if (lanes.results.isWhole && results > taken)
    say('I2', 'results', `${results} results are in its history, ${taken} were consumed`)
  const signals = fold.total('signal')
  if (signals > record.signalsTaken)
    say('I2', 'signal-count', `${signals} signals are in its history, ${record.signalsTaken} were consumed`)
}

// I1, I16: a large result stands beside the lane, under its call; in the lane stands its head. Neither is there without the other.
function largeRules({ picture, say }: Seen): void {
  const { heads, isWhole } = picture.lanes.results
  const there = new Set(picture.largeCalls)
  const announced = new Set(heads.flatMap((head) => callOfHeadAlone('results', head) ?? []).map(String))
  for (const call of announced)
    if (!there.has(call))
      say(
        'I1',
        `large-${call}`,
        `the result of its call ${call} is lost: only the head is in its mailbox. It receives a failure in place of it; put field ${call} of its key mail:large back from a copy of Redis, or have the work done again`,
      )
  if (!isWhole) return
  for (const call of there)
    if (!announced.has(call))
      say(
        'I16',
        `large-${call}`,
        `a result of call ${preview(call)} is in its key mail:large, and no head in its mailbox: it never receives it. Read it there, and remove the field (HDEL)`,
      )
}

// I11: the last failure is set when a run fails, and only then.
function failureRules({ picture, fold, say }: Seen): void {
  const { record, failureJson } = picture
  if (record.hasFailed !== (failureJson !== ''))
    say(
      'I11',
      'failure',
      `its record says ${record.hasFailed ? 'that it failed' : 'nothing of a failure'}, its last failure ${failureJson === '' ? 'is not there' : 'is there'}`,
    )
  const { last } = fold
  if (last?.type === 'failed' && record.status === 'idle') {
    const recorded = messageOf(failureJson)
    if (recorded !== last.failure.message)
      say('I11', 'last', 'its last run failed with another failure than its last one')
    const { run } = record.runState
    if (run !== 'Failed') say('I11', 'state', `its last run failed, and it is shown as ${run}`)
  }
  if (last?.type === 'completed' && record.runState.run === 'Failed')
    say('I11', 'state', 'its last run completed, and it is shown as failed')
}

function messageOf(failureJson: string): string | null {
  try {
    return (JSON.parse(failureJson) as Failure).message
  } catch {
    return null
  }
}

// I14: no worker was started more often without a commit than the limits allow.
function startRules(seen: Seen): void {
  const { picture, say } = seen
  const { record } = picture
  const { isolatedStarts: isolated, starts } = record
  const { poisonAfterIsolatedStarts: isolatedStartsMax, suspectAfterStarts: freeMax } = policy
  if (isolated > isolatedStartsMax)
    say('I14', 'isolated', `it had ${isolated} isolated starts, ${isolatedStartsMax} are allowed`)
  const isLast = isolated >= isolatedStartsMax || record.status === 'terminal' || isCancelled(seen)
  if (!isLast && starts > freeMax + isolated)
    say('I14', 'starts', `it was started ${starts} times without a commit, ${isolated} of them isolated`)
}

// I18: a run that its gate lets begin is counted there until it ends; one that must wait is in the order there.
function gateRules({ picture, say }: Seen): void {
  const { record, isAtGate } = picture
  const { status, wait, gates } = record
  const waits = status === 'parked' && wait.kind === 'gate'
  if (waits && (gates === null || gates.state === 'in' || gates.state === 'out'))
    say('I18', 'gate', 'it waits at a gate, and its record names none: nothing lets it begin')
  else if (waits && isAtGate === false)
    say('I18', 'gate', 'it waits at a gate of its kind that does not have it: nothing lets it begin')
  if (gates?.state === 'in' && gates.runs !== null && isAtGate === false)
    say(
      'I18',
      'uncounted',
      'its run is in progress, and the gate of its kind does not count it: too many may run at once',
    )
}
