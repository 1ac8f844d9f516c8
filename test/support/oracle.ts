/**
 * The oracle of fault tests: reads every record of a namespace at rest and says which invariant of the protocol is broken first.
 * It believes no process: histories, mailboxes and records must agree with each other. What it cannot know from records alone (I6,
 * I10, I12, I13, I15, I17) the tests see by their ledgers.
 */
import type { Redis } from 'ioredis'
import type { Entry, ReceivedEntry } from '../../src/core/entry.ts'
import { childId, rootIdOf } from '../../src/core/ids.ts'
import { policy } from '../../src/core/policy.ts'
import { partitionKeys, tagOf } from '../../src/store/keys.ts'
import { type Snapshot, takeSnapshot, type WorkerSnapshot } from './snapshot.ts'
import { waitUntil } from './wait-until.ts'

/** Waits until nothing is queued, running or being cancelled, then checks all. Throws with the first violated lines. */
export async function expectInvariants(redis: Redis, namespace: string, restMsMax = 10_000): Promise<Snapshot> {
  const atRest = await waitUntil(
    'nothing is queued, running or being cancelled',
    async () => {
      if (!(await isAtRest(redis, namespace))) return false
      const snapshot = await takeSnapshot(redis, namespace)
      // Keys are read one after the other: only what did not move meanwhile is a picture of one moment.
      return (await isAtRest(redis, namespace)) && snapshot
    },
    restMsMax,
  )
  const broken = violations(atRest)
  if (broken.length > 0)
    throw new Error(`${broken.length} violated invariants, the first:\n${broken.slice(0, 5).join('\n')}`)
  return atRest
}

async function isAtRest(redis: Redis, namespace: string): Promise<boolean> {
  const keys = partitionKeys(tagOf(namespace, 0))
  const pools = new Set(['default', ...(await redis.hvals(keys.kinds)).map((line) => line.split(' ')[0] ?? '')])
  const lengths = await Promise.all([
    redis.zcard(keys.leases),
    redis.scard(keys.cancelling),
    ...[...pools].map((pool) => redis.zcard(keys.run(pool))),
  ])
  return lengths.every((length) => length === 0)
}

/** One line for each violation, with the number of the invariant and the worker. */
function violations(snapshot: Snapshot): string[] {
  const lines = [...snapshot.workers.values()].flatMap((worker) => [
    ...placeRules(worker, snapshot),
    ...historyRules(worker),
    ...runRules(worker),
    ...mailRules(worker, snapshot),
    ...childRules(worker, snapshot),
    ...failureRules(worker),
    ...poisonRules(worker),
  ])
  return [...lines, ...deliveryRules(snapshot), ...sessionRules(snapshot)]
}

// I7, I9: where a worker stands agrees with the sets, and at rest nothing is under way.
function placeRules({ id, record, timers }: WorkerSnapshot, snapshot: Snapshot): string[] {
  const lines: string[] = []
  const say = (what: string) => lines.push(`${what} (worker ${id}, ${record.kind}, state ${record.state})`)
  const isLeased = snapshot.leased.includes(id)
  const isQueued = snapshot.queued.includes(id)
  if ((record.state === 'queued') !== isQueued) say('I7 queued and in the run queue are not the same')
  if ((record.state === 'running') !== isLeased) say('I7 running and in leases are not the same')
  if (record.state !== 'running' && /:./.test(record.token ?? '')) say('I7 a worker that does not run has a token')
  if (record.state === 'parked' && (isLeased || isQueued)) say('I9 a parked worker holds a lease or a place in line')
  if (record.state === 'parked' && record.open !== '1' && record.wait !== 'retry') say('I9 parked without an open run')
  if (record.state === 'idle' && record.open === '1') say('I9 idle with an open run')
  const due = snapshot.timers.filter((timer) => timer.startsWith(`${id}:`))
  for (const timer of timers) if (!due.includes(`${id}:${timer}`)) say(`I9 timer ${timer} has a value and is never due`)
  if (due.length > 0 && record.state !== 'parked') say('I9 a timer is open and its worker waits for nothing')
  return lines
}

// I4, I5: what is in the history was committed, and its epochs never decrease.
function historyRules({ id, record, history }: WorkerSnapshot): string[] {
  const lines: string[] = []
  if (history.length > 0 && Number(record.version) < 1) lines.push(`I4 a history without a commit (worker ${id})`)
  let last = 0
  for (const [position, entry] of history.entries()) {
    if (entry.epoch === undefined) continue
    if (entry.epoch < last) lines.push(`I5 epoch ${entry.epoch} after ${last} at position ${position} (worker ${id})`)
    last = entry.epoch
  }
  if (last > epochOf(record)) lines.push(`I5 epoch ${last} in the history, ${epochOf(record)} in the record (${id})`)
  return lines
}

// I4: runs follow each other, each ends once, and nothing is recorded of a run that is over.
function runRules({ id, record, history }: WorkerSnapshot): string[] {
  const lines: string[] = []
  let run = 1
  for (const [position, entry] of history.entries()) {
    const of = entry.run ?? run
    if (of !== run) lines.push(`I4 an entry of run ${of} while run ${run} is next, position ${position} (worker ${id})`)
    if (isEnd(entry)) run = of + 1
  }
  if (Number(record.run) !== run) lines.push(`I4 the record is at run ${record.run}, the history at run ${run} (${id})`)
  return lines
}

// I1, I2, I3, I16: each message is consumed once, inputs in the order they came; what was consumed is in the history or dead.
function mailRules({ id, record, history, mail }: WorkerSnapshot, snapshot: Snapshot): string[] {
  const lines: string[] = []
  const received = history.filter(isReceived).map(({ message }) => message)
  const seen = new Set<string>()
  for (const { id: messageId } of received) {
    if (seen.has(messageId)) lines.push(`I2 message ${messageId} was consumed twice (worker ${id})`)
    seen.add(messageId)
  }
  for (const { message } of [...mail.control, ...mail.family, ...mail.user])
    if (seen.has(message.id)) lines.push(`I1 message ${message.id} is in mailbox and history (worker ${id})`)
  const inputs = received.filter(({ kind }) => kind === 'input')
  const places = inputs.map((message) => Number(message.id.split('-')[1]))
  for (const [index, place] of places.entries())
    if (index > 0 && place <= (places[index - 1] ?? 0)) lines.push(`I3 input ${place} came late (worker ${id})`)
  const dead = snapshot.dead.filter(({ worker }) => worker === id).length
  const consumed = inputs.length + history.filter(isAgentInput).length
  if (Number(record.user ?? 0) !== consumed + dead)
    lines.push(`I16 ${record.user ?? 0} inputs consumed, ${consumed} in the history, ${dead} dead (worker ${id})`)
  const timers = received.filter(({ kind }) => kind === 'timer').length
  if (Number(record.control ?? 0) < timers) lines.push(`I16 more timers in the history than consumed (worker ${id})`)
  const results = received.filter(({ kind }) => kind === 'result').length
  const spent = Number(record.family ?? 0) + mail.family.length
  if (spent < results) lines.push(`I16 more results in the history than came (worker ${id})`)
  return lines
}

// I1: as many messages as a history says were sent or given at birth are in the histories, mailboxes and dead letters of others.
function deliveryRules(snapshot: Snapshot): string[] {
  const lines: string[] = []
  for (const sender of snapshot.workers.values()) {
    const entries = sender.history.filter(isReceived)
    const sent = entries.flatMap((entry) => [...(entry.sent ?? []), ...(entry.spawned ?? []).map((note) => note.id)])
    for (const [to, all] of Map.groupBy(sent, (one) => one)) {
      const recipient = snapshot.workers.get(to)
      const arrived = [
        ...(recipient?.history.filter(isReceived).map(({ message }) => message) ?? []),
        ...(recipient?.mail.user.map(({ message }) => message) ?? []),
        ...snapshot.dead.filter(({ worker }) => worker === to).map(({ mail }) => mail.message),
      ].filter((message) => message.kind === 'input' && message.from === sender.id).length
      if (arrived !== all.length) lines.push(`I1 ${all.length} sent from ${sender.id} to ${to}, ${arrived} arrived`)
    }
  }
  return lines
}

// I8: one child for each spawning call, one result for each child at its parent.
function childRules(parent: WorkerSnapshot, snapshot: Snapshot): string[] {
  const lines: string[] = []
  const { id, record, history, mail } = parent
  for (const entry of history.filter((one) => isReceived(one) || one.type === 'delegated')) {
    for (const note of entry.spawned ?? []) {
      const child = snapshot.workers.get(note.id)
      if (note.id !== childId(id, entry.run ?? 0, note.call))
        lines.push(`I8 call ${note.call} of ${id} made ${note.id}`)
      if (child === undefined) {
        lines.push(`I8 call ${note.call} of ${id} has no child`)
        continue
      }
      if (child.record.parent !== id) lines.push(`I8 child ${note.id} does not know its parent ${id}`)
      if (note.detached) continue
      const results = history.filter(
        (one) => isReceived(one) && one.message.kind === 'result' && one.message.from === note.id,
      ).length
      if (results > 1) lines.push(`I8 ${results} results of child ${note.id} at its parent ${id}`)
      const isOpen = record.open === '1' && Number(record.run) === entry.run
      const waiting = mail.family.filter(({ message }) => message.kind === 'result' && message.from === note.id).length
      const hasEnded = Number(child.record.run) > 1
      if (isOpen && hasEnded && results + waiting !== 1)
        lines.push(`I8 child ${note.id} has ended and its parent ${id} still waits for it`)
    }
  }
  return lines
}

// I11: the last failure is set with the failing transition, and only then.
function failureRules({ id, record, history, failure }: WorkerSnapshot): string[] {
  const lines: string[] = []
  if ((record.failed === '1') !== (failure !== null))
    lines.push(`I11 the record and the failure disagree (worker ${id})`)
  const last = history.at(-1)
  if (last?.type === 'failed' && record.state === 'idle') {
    const recorded = failure === null ? null : (JSON.parse(failure) as { message: string }).message
    if (recorded !== last.failure.message) lines.push(`I11 a failed run without its last failure (worker ${id})`)
    if (record.fsm !== 'Failed') lines.push(`I11 a failed run is shown as ${record.fsm} (worker ${id})`)
  }
  if (last?.type === 'completed' && record.fsm === 'Failed')
    lines.push(`I11 a completed run is shown as failed (${id})`)
  return lines
}

// I14: nothing was started more often than allowed without a commit.
function poisonRules({ id, record }: WorkerSnapshot): string[] {
  const most = policy.suspectAfterStarts + policy.poisonAfterStartsAlone
  const lines: string[] = []
  const committed = Number(record.commit?.split(':')[0] || 0)
  const starts = record.state === 'terminal' ? 0 : epochOf(record) - committed
  if (starts > most) lines.push(`I14 ${starts} starts without a commit (worker ${id})`)
  if (Number(record.alone ?? 0) > policy.poisonAfterStartsAlone) lines.push(`I14 ${record.alone} starts alone (${id})`)
  return lines
}

// I16: counts and results of a session agree with its workers.
function sessionRules(snapshot: Snapshot): string[] {
  const lines: string[] = []
  for (const { id, record, children, cancelled } of snapshot.sessions.values()) {
    const root = snapshot.workers.get(rootIdOf(id))
    if (root === undefined) {
      lines.push(`I16 session ${id} has no root`)
      continue
    }
    if (Number(record.workers) !== children.length + 1)
      lines.push(`I16 session ${id} counts ${record.workers} workers and has ${children.length + 1}`)
    if (new Set(children).size !== children.length) lines.push(`I8 session ${id} lists a child twice`)
    for (const child of children)
      if (!snapshot.workers.has(child)) lines.push(`I16 session ${id} lists worker ${child}, which has no record`)
    if (record.state === 'cancelling') lines.push(`I12 the cancel of session ${id} was never finished`)
    if (cancelled.length > 0) lines.push(`I12 session ${id} still has cancelled runs: ${cancelled[0]}`)
    for (const [name, line] of Object.entries(record)) {
      if (!name.startsWith('result:')) continue
      const [status, position] = line.split(' ')
      const entry = root.history[Number(position)]
      if (entry?.type !== status) lines.push(`I16 ${name} of session ${id} says ${line}, the history ${entry?.type}`)
    }
    const isOver = record.state === 'completed' || record.state === 'failed'
    if (isOver && root.mail.user.length > 0) lines.push(`I16 session ${id} ended with mail waiting at its root`)
    if (isOver && root.record.state !== 'idle') lines.push(`I16 session ${id} ended, its root is ${root.record.state}`)
  }
  return lines
}

/** How often the worker was claimed: in its token while it has one, and in the id of its last commit. */
function epochOf({ token, commit }: WorkerSnapshot['record']): number {
  return Math.max(Number(token?.split(':')[0] || 0), Number(commit?.split(':')[0] || 0))
}

function isReceived(entry: Entry): entry is ReceivedEntry {
  return entry.type === 'received'
}

/** An agent's history holds an input as it was said; what is said to a model after its blank reply is no input. */
function isAgentInput(entry: Entry, position: number, history: readonly Entry[]): boolean {
  return entry.type === 'user' && history[position - 1]?.type !== 'blank'
}

function isEnd(entry: Entry): boolean {
  return entry.type === 'completed' || entry.type === 'failed' || entry.type === 'cancelled'
}
