/** What must be true of every state, and of a state in which nothing more happens. */

import type { AskRecord, Store, WorkerRecord } from '../records.ts'
import { sightRules } from '../sights.ts'
import type { Slot, World } from '../world.ts'
import { hasWakeups } from './call-checks.ts'
import { gateRules } from './gate-checks.ts'

export function stateViolations(world: World): string[] {
  const { store, ghost } = world
  const lines: string[] = []
  for (const [id, worker] of Object.entries(store.workers)) {
    lines.push(...placeRules(store, id, worker), ...childRules(store, id, worker))
    lines.push(...mailRules(store, id, worker, ghost.accepted[id] ?? []), ...signalRules(id, worker))
  }
  for (const [id, ask] of Object.entries(store.asks)) lines.push(...askRules(store, id, ask))
  lines.push(...sightRules(store, world.sight), ...gateRules(world))
  if (!ghost.owesWakeups && lacksWakeups(world))
    lines.push('I17 a slot sleeps, a worker is queued, and no wake-up is on its way')
  return lines
}

/** I7, I9, I11 */
function placeRules(store: Store, id: string, worker: WorkerRecord): string[] {
  const lines: string[] = []
  const { status, nonce, open, wait, log, failed } = worker
  const queued = store.run.filter((other) => other === id).length
  const leased = store.leases.filter((lease) => lease.id === id).length
  if (queued !== (status === 'queued' ? 1 : 0)) lines.push(`I7 ${id} is ${status} and ${queued} times in the run queue`)
  if (leased !== (status === 'running' ? 1 : 0)) lines.push(`I7 ${id} is ${status} and has ${leased} leases`)
  if ((nonce !== '') !== (status === 'running')) lines.push(`I7 ${id} is ${status} and its token is "${nonce}"`)
  if (status === 'parked' && (open ? wait === 'any' : wait !== 'gate'))
    lines.push(`I9 ${id} is parked and waits for nothing`)
  if (status === 'idle' && open) lines.push(`I9 ${id} is idle within a run`)
  if (log.at(-1) === 'failed' && status !== 'running' && !failed)
    lines.push(`I11 ${id} failed and its record does not say so`)
  return lines
}

/** I9: the run waits for as many signals as there are open asks and answers that nobody has received. I2: an ask is answered once. */
function signalRules(id: string, { open, asks, signals, signalsOpen, log }: WorkerRecord): string[] {
  const lines: string[] = []
  const there = asks.length + signals.length
  if (open && signalsOpen !== there) lines.push(`I9 ${id} waits for ${signalsOpen} signals, and ${there} are there`)
  if (!open && there > 0) lines.push(`I9 ${id} has ${there} signals of a run that is over`)
  const answered = [...log.filter((entry) => /^(answered|expired):/.test(entry)), ...signals]
  const ended = answered.map((entry) => entry.split(':')[1])
  if (new Set(ended).size < ended.length) lines.push(`I2 ${id} has two answers of one ask: ${answered.join(', ')}`)
  return lines
}

/** I9: an open ask is in the inbox, and its run is open. Any other is in no set. */
function askRules({ open, timers, workers }: Store, id: string, { worker, run, state }: AskRecord): string[] {
  const isOpen = state === ''
  const owner = workers[worker]
  const sets = { inbox: open.includes(id), worker: owner?.asks.includes(id) === true }
  const lines = Object.entries(sets).flatMap(([name, isIn]) =>
    isIn === isOpen ? [] : [`I9 ask ${id} is ${state || 'open'}, and ${isIn ? '' : 'not '}in the set of its ${name}`],
  )
  if (isOpen && (owner?.open !== true || owner.run !== run)) lines.push(`I9 ask ${id} is open, and its run is over`)
  if (timers.includes(id) && !isOpen) lines.push(`I9 ask ${id} is ${state} and expires`)
  return lines
}

/** I1, I2, I3: what was accepted is consumed or waits, each once, in order. */
function mailRules({ dead }: Store, id: string, { log, inbox }: WorkerRecord, accepted: readonly string[]): string[] {
  const got = log.filter((entry) => entry.startsWith('got:')).map((entry) => entry.slice(4))
  const consumed = [...got, ...dead.filter((mail) => accepted.includes(mail))]
  const all = [...consumed, ...inbox]
  const lines: string[] = []
  for (const mail of accepted) {
    const times = all.filter((other) => other === mail).length
    if (times === 0) lines.push(`I1 ${mail} was accepted by ${id} and is nowhere`)
    if (times > 1) lines.push(`I2 ${mail} is ${times} times with ${id}`)
  }
  if (all.length > accepted.length && lines.length === 0) lines.push(`I1 ${id} has mail that it never accepted`)
  const inOrder = (mails: readonly string[]) =>
    mails.every((mail, index) => index === 0 || accepted.indexOf(mail) > accepted.indexOf(mails[index - 1] as string))
  if (lines.length === 0 && !inOrder([...got, ...inbox])) lines.push(`I3 ${id} has its inputs out of order`)
  return lines
}

/** I8: one result for each child whose first run is over, at a parent whose run still waits; none outside a run. */
function childRules(store: Store, id: string, worker: WorkerRecord): string[] {
  const lines: string[] = []
  const waiting = worker.results.filter((text) => text !== '')
  if (!worker.open && waiting.length > 0) lines.push(`I8 ${id} has results of a run that is over`)
  const results = [...worker.log.filter((entry) => entry.startsWith('result:')), ...waiting]
  for (const [childId, child] of Object.entries(store.workers)) {
    if (child.parent !== id) continue
    const count = results.filter((text) => text === `result:${childId}`).length
    const isDue = worker.open && worker.run === child.parentRun && child.run > 1 && child.status !== 'terminal'
    if (count > 1 || (isDue && count === 0) || (child.run === 1 && count > 0))
      lines.push(`I8 ${count} results of ${childId} at ${id}`)
  }
  return lines
}

function lacksWakeups({ store, slots }: World): boolean {
  if (store.run.length === 0 || [...store.wakeups, ...store.busy].some(({ over }) => over)) return false
  // A slot in a turn known to be long is not on its way, even if its wake-up should still count as out.
  const isLong = ({ wakeup, isBusy, turn, pending }: Slot) =>
    isBusy && turn !== null && pending === null && store.busy.some(({ id }) => id === wakeup)
  const isOnItsWay = (id: string) => {
    const holders = slots.filter(({ wakeup }) => wakeup === id)
    return holders.length === 0 || !holders.every(isLong)
  }
  const wakeups = store.wakeups.filter(({ id }) => isOnItsWay(id))
  return slots.some(({ wakeup }) => wakeup === '') && !hasWakeups({ ...store, wakeups })
}

/** Nothing more happens: then everything that was accepted was consumed, and nobody waits. */
export function restViolations({ store, clients }: World): string[] {
  const lines: string[] = []
  const { mode, state } = store.session
  if (mode === 'job' && (state === 'active' || state === 'cancelling')) lines.push('rest: the session never ends')
  if (clients.some(({ state }, index) => state !== 'done' && index < 2)) lines.push('rest: a client waits for ever')
  for (const [id, { status, inbox }] of Object.entries(store.workers)) {
    if (status !== 'idle' && status !== 'terminal') lines.push(`rest: ${id} is ${status} for ever`)
    if (status !== 'terminal' && inbox.length > 0) lines.push(`rest: ${inbox.join(', ')} is never consumed by ${id}`)
  }
  if (store.run.length + store.leases.length > 0) lines.push('I7 at rest something is queued or leased')
  if (store.session.unfinished) lines.push('rest: a cancel is never finished')
  if (store.gate.in.length > 0) lines.push(`rest: ${store.gate.in.join(', ')} holds a place for ever`)
  return lines
}
