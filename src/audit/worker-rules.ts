/** Duty: the rules that a worker's picture and history are held to by themselves: where it stands, what it holds, what it consumed. */

import { defaultPool } from '../core/ids.ts'
import { policy } from '../core/policy.ts'
import type { Failure } from '../core/worker/failure.ts'
import type { SessionPicture, WorkerPicture } from '../store/audit-store.ts'
import { decodeCalls } from '../store/record/call-ranges.ts'
import { epochOf, startsOf } from '../store/record/starts.ts'
import type { Say } from './finding.ts'
import type { HistoryFold } from './history-fold.ts'

/** A worker at one moment. */
export interface Seen {
  readonly picture: WorkerPicture
  readonly fold: HistoryFold
  readonly session: SessionPicture
  readonly say: Say
}

export const isAgent = ({ fields }: WorkerPicture) => (fields.data ?? '').startsWith('a ')
export const isOpen = ({ fields }: WorkerPicture) => fields.open === '1'
/** Is the session being cancelled, and not finished yet? */
export const isCancelling = ({ fields }: SessionPicture) => fields?.cancel !== undefined && fields.ended === undefined

/** What a lane ever accepted: what it gave away, and what it holds. */
export function acceptedIn(picture: WorkerPicture, lane: 'control' | 'family' | 'user'): number {
  return Number(picture.fields[lane] ?? 0) + picture.lanes[lane].length
}

export function workerRules(seen: Seen): void {
  placeRules(seen)
  wakeRules(seen)
  timerRules(seen)
  historyRules(seen)
  openRunRules(seen)
  consumedRules(seen)
  failureRules(seen)
  startRules(seen)
}

// I7, I9: where a worker stands agrees with the sets.
function placeRules({ picture, say }: Seen): void {
  const { fields, queuedIn, isLeased } = picture
  const { place = '', token = '', pool = defaultPool } = fields
  const isQueued = place === 'queued'
  if (isQueued && !picture.unreadPools.includes(pool) && !queuedIn.includes(pool))
    say('I7', 'line', `it is queued and not in the run queue of pool ${pool}`)
  const elsewhere = queuedIn.filter((name) => !isQueued || name !== pool)
  if (elsewhere.length > 0)
    say('I7', 'elsewhere', `it is ${place} in pool ${pool} and stands in the run queue of ${elsewhere.join(', ')}`)
  if (place === 'running' && isLeased === false)
    say('I7', 'lease', 'it is running and holds no lease: no sweep would take it back')
  if (place !== 'running' && isLeased) say('I7', 'leased', `it is ${place} and holds a lease`)
  const holds = /^\d+:./.test(token)
  if (place === 'running' && !holds) say('I7', 'no-token', 'it is running and has no token: nobody can write for it')
  if (place !== 'running' && holds) say('I7', 'token', `it is ${place} and has a token: ${token}`)
  if (place === 'parked' && !isOpen(picture) && fields.wait !== 'retry')
    say('I9', 'parked', 'it is parked and no run is open')
  if (place === 'idle' && isOpen(picture)) say('I9', 'idle', 'it is idle and a run is open')
}

// I7: who rests waits for nothing that is there; who is queued has something to do.
function wakeRules(seen: Seen): void {
  const { picture, say } = seen
  const { fields, lanes } = picture
  const { place, wait = 'any' } = fields
  if (place === 'idle' && lanes.user.length > 0)
    say('I7', 'asleep', `it is idle and ${lanes.user.length} inputs wait in its mailbox`)
  if (place === 'parked' && wait !== 'retry' && isAwaited(picture, wait))
    say('I7', 'asleep', `it is parked and what it waits for (${wait}) is in its mailbox`)
  if (place === 'queued' && !isCancelled(seen) && !hasWork(picture))
    say('I1', 'nothing', 'it is queued and nothing is in its mailbox: what woke it is gone')
}

function isAwaited({ fields, lanes }: WorkerPicture, wait: string): boolean {
  if (lanes.control.length > 0) return true
  if (wait === 'any') return lanes.family.length > 0 || lanes.user.length > 0
  const [sort, what = ''] = wait.split(':')
  if (sort === 'result') return lanes.family.heads.some((head) => head.startsWith(`r\t${what}\t`))
  return sort === 'family' && Number(fields.family ?? 0) + lanes.family.length >= Number(what)
}

function hasWork(picture: WorkerPicture): boolean {
  const { fields, lanes } = picture
  if (!isOpen(picture)) return lanes.user.length > 0
  if (isAgent(picture) || lanes.control.length > 0 || !lanes.family.isWhole) return true
  const [next] = decodeCalls(fields.awaits ?? '')
  return lanes.family.heads.some((head) => head.split('\t')[2] === String(next))
}

/** Or may be. */
function isCancelled({ session }: Seen): boolean {
  return session.damage.length > 0 || session.cancelled.length > 0 || isCancelling(session)
}

// I9: a timer that was set fires, and then is received.
function timerRules({ picture, say }: Seen): void {
  const { fields, timers, lanes, hasRetryTimer } = picture
  for (const { id, isTimed } of timers)
    if (isTimed === false) say('I9', `timer-${id}`, `timer ${id} has a value and is never due`)
  const open = Number(fields.timersOpen ?? 0)
  const there = timers.length + lanes.control.length
  // Who runs may have received timers that are not committed yet; they stay in their lane until then.
  if (open !== there) say('I9', 'timers', `${open} of its timers are open, ${there} are there`)
  const retries = fields.place === 'parked' && fields.wait === 'retry'
  if (retries && hasRetryTimer === false) say('I9', 'retry', 'it waits for a retry that is never due')
}

// I4, I5: the record and the history tell of the same runs.
function historyRules({ picture, fold, say }: Seen): void {
  const { fields, historyLength } = picture
  if (historyLength > 0 && Number(fields.version ?? 0) < 1) say('I4', 'version', 'it has a history and no commit')
  if (Number(fields.run ?? 1) !== fold.run)
    say('I4', 'runs', `its record is at run ${fields.run ?? 1}, its history at run ${fold.run}`)
  const epoch = epochOf(fields)
  if (fold.lastEpoch > epoch) say('I5', 'ahead', `epoch ${fold.lastEpoch} is in its history, ${epoch} in its record`)
}

// I1, I4: what the open run waits for, by its record and by its history.
function openRunRules({ picture, fold, say }: Seen): void {
  const { open } = fold
  const { fields } = picture
  if (!isOpen(picture)) {
    if (open.received.input + open.received.result + open.received.timer > 0)
      say('I4', 'unended', `run ${fold.run} is in its history, is not open and has no end`)
    return
  }
  const awaits = decodeCalls(fields.awaits ?? '').join()
  const missing = open.missing.map((child) => open.joined.get(child)).join()
  if (awaits !== missing)
    say('I8', 'awaits', `it awaits the calls ${awaits || 'none'}; by its history ${missing || 'none'}`)
  const timers = open.timersSet - open.received.timer
  if (Number(fields.timersOpen ?? 0) !== timers)
    say('I4', 'timers', `${fields.timersOpen ?? 0} timers are open by its record, ${timers} by its history`)
  if (Number(fields.calls ?? 0) !== open.calls)
    say('I4', 'calls', `it has made ${fields.calls ?? 0} spawning calls by its record, ${open.calls} by its history`)
  if (open.received.input === 0) say('I1', 'input', `run ${fold.run} is open and the input that began it is not there`)
}

// I1, I16: what was consumed is in the history or among the dead letters.
function consumedRules({ picture, fold, say }: Seen): void {
  const { fields, lanes } = picture
  const consumed = Number(fields.user ?? 0)
  const known = fold.inputs + fold.deadRuns
  if (consumed !== known) {
    const which =
      fold.holes.size > fold.deadRuns ? `; message user-${[...fold.holes].join(', user-')} is not there` : ''
    const what = `${consumed} inputs were consumed, ${fold.inputs} are in its history, ${fold.deadRuns} dead${which}`
    say(consumed > known ? 'I1' : 'I2', 'inputs', what)
  }
  const results = fold.total('result')
  const taken = Number(fields.family ?? 0) + lanes.family.heads.filter((head) => head === '').length
  if (lanes.family.isWhole && results > taken)
    say('I2', 'results', `${results} results are in its history, ${taken} were consumed`)
  const timers = fold.total('timer')
  if (timers > Number(fields.control ?? 0))
    say('I2', 'timer-count', `${timers} timers are in its history, ${fields.control ?? 0} were consumed`)
}

// I11: the last failure is set with the failing transition, and only then.
function failureRules({ picture, fold, say }: Seen): void {
  const { fields, failureJson } = picture
  if ((fields.failed === '1') !== (failureJson !== ''))
    say(
      'I11',
      'failure',
      `its record says ${fields.failed === '1' ? 'that it failed' : 'nothing of a failure'}, its last failure ${failureJson === '' ? 'is not there' : 'is there'}`,
    )
  const { last } = fold
  if (last?.type === 'failed' && fields.place === 'idle') {
    const recorded = messageOf(failureJson)
    if (recorded !== last.failure.message)
      say('I11', 'last', 'its last run failed with another failure than its last one')
    if (fields.runState !== 'Failed') say('I11', 'state', `its last run failed, and it is shown as ${fields.runState}`)
  }
  if (last?.type === 'completed' && fields.runState === 'Failed')
    say('I11', 'state', 'its last run completed, and it is shown as failed')
}

function messageOf(failureJson: string): string | null {
  try {
    return (JSON.parse(failureJson) as Failure).message
  } catch {
    return null
  }
}

// I14: nothing was started more often than allowed without a commit.
function startRules(seen: Seen): void {
  const { picture, say } = seen
  const { fields } = picture
  const alone = Number(fields.alone ?? 0)
  const { poisonAfterStartsAlone: aloneMax, suspectAfterStarts: freeMax } = policy
  if (alone > aloneMax) say('I14', 'alone', `it was started alone ${alone} times, ${aloneMax} are allowed`)
  const starts = startsOf(fields)
  const isLast = alone >= aloneMax || fields.place === 'terminal' || isCancelled(seen)
  if (!isLast && starts > freeMax + alone)
    say('I14', 'starts', `it was started ${starts} times without a commit, ${alone} of them alone`)
}
