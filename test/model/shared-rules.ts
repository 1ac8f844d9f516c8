/** What lua/shared/ holds: the rules that several scripts apply. `plan…` and `is…` only read, `write…` writes to a draft. */
import { type Dated, newRecord, rootId, type Store, type WorkerRecord } from './records.ts'

/** A guard that is taken out, to see that the search finds the harm. */
export const mutants = [
  'token check',
  'token cleared with the lease',
  'version check',
  'commit id',
  'end-of-turn check of inputs',
  'end-of-turn check of results',
  'run-queue entry',
  'bell rule',
  'bell rule: long turns',
  'bell rule: a turn that leaves',
  'stale bells',
  'starts before work',
  'dedupe of posts',
  'same grant',
  'older claims',
  'path check of cancel',
  'cancel check of claims',
  'children of an ended run',
  'results of an old run',
  'finish spares running turns',
  'end of a cancel that was lost',
] as const

export type Mutant = (typeof mutants)[number]

export interface Rules {
  readonly suspectAfter: number
  readonly poisonAfter: number
  readonly without?: Mutant | undefined
}

export const starts = ({ epoch, commit }: WorkerRecord): number => epoch - (commit?.epoch ?? 0)

/** A worker that is not there looks as one that nobody ever claimed. */
export function record(store: Store, id: string): WorkerRecord {
  return store.workers[id] ?? newRecord({ place: 'terminal' })
}

/** own: this run only; whole: for good, through an ancestor or itself. */
export function cancelHit(store: Store, id: string, rules: Rules): 'own' | 'whole' | null {
  const { cancelled } = store.session
  if (cancelled.length === 0) return null
  const { path, run } = record(store, id)
  const probes = rules.without === 'path check of cancel' ? [] : path
  const whole = probes.some(
    (one) => cancelled.includes(one) || cancelled.includes(`${one.slice(0, one.lastIndexOf(':'))}:*`),
  )
  if (whole || cancelled.includes(`${id}:*`)) return 'whole'
  return cancelled.includes(`${id}:${run}`) ? 'own' : null
}

/** Does a message in this lane wake a worker in this place, waiting for this? */
export function wakes(place: string, wait: string, lane: 'family' | 'user', text: string): boolean {
  if (place === 'idle') return true
  if (place !== 'parked') return false
  if (wait === 'any') return true
  return lane === 'family' && text === wait
}

export function writeQueued(store: Store, id: string): void {
  store.run = [...store.run, id]
}

/** Takes down who was woken in this script, so that nobody is queued twice. */
export function writeMail(store: Store, id: string, lane: 'family' | 'user', text: string, rules: Rules): boolean {
  const worker = record(store, id)
  worker[lane] = [...worker[lane], text]
  if (!wakes(worker.place, worker.wait, lane, text)) return false
  if (rules.without !== 'run-queue entry') writeQueued(store, id)
  worker.place = 'queued'
  return true
}

export const out = (bells: readonly Dated<string>[], rules: Rules): number =>
  rules.without === 'stale bells' ? bells.length : bells.filter((bell) => !bell.over).length

/** While bells out < min(workers queued, max(1, slots - busy)): one more bell. */
export function writeBells(store: Store, seed: number, rules: Rules): string[] {
  if (rules.without === 'bell rule') return []
  const queued = store.run.length
  const wanted = Math.min(queued, store.slots > 1 ? Math.max(1, store.slots - store.busy.length) : 1)
  const bells = Array.from({ length: Math.max(0, wanted - out(store.bells, rules)) }, (_, index) => `b${seed + index}`)
  for (const bell of bells) writeBell(store, bell)
  return bells
}

/** Sets a bell, anew if it is there. */
export function writeBell(store: Store, bell: string): void {
  store.bells = [...store.bells.filter(({ id }) => id !== bell), { id: bell, over: false }]
}

export function dropBell(store: Store, bell: string, wasBusy: boolean): void {
  store.bells = store.bells.filter(({ id }) => id !== bell)
  if (wasBusy) store.busy = store.busy.filter(({ id }) => id !== bell)
}

/** What only the ended run could have used: results that nobody received. */
export function writeRunLeftovers(worker: WorkerRecord, awaited: boolean): void {
  if (!awaited) return
  worker.familyTaken += worker.family.length
  worker.family = []
}

export const isRoot = (id: string): boolean => id === rootId
