/** What lua/shared/ holds: the rules that several scripts apply. `plan…` and `is…` only read, `write…` writes to a draft. */
import { type AskRecord, type Dated, newRecord, rootId, type Store, type WorkerRecord } from '../records.ts'

/** A guard that is taken out, to see that the search finds the harm. */
export const mutants = [
  'token check',
  'token cleared with the lease',
  'version check',
  'commit id',
  'end-of-turn check of inputs',
  'end-of-turn check of results',
  'run-queue entry',
  'wake-up rule',
  'wake-up rule: long turns',
  'wake-up rule: a turn that leaves',
  'stale wake-ups',
  'starts before work',
  'dedupe of posts',
  'same assignment',
  'older claims',
  'path check of cancel',
  'cancel check of claims',
  'children of an ended run',
  'results of an old run',
  'finish spares running turns',
  'end of a cancel that was lost',
  'end-of-turn check of signals',
  'an ask is answered once',
  'an answer that is sent again',
  'an ended ask leaves the inbox',
  'an ended run withdraws its asks',
  'asks of a cancelled run',
  'lengths of lanes in what a fork sees',
  'no more runs than a gate allows',
  'a run that ends frees its place',
  'who waits at a gate holds no lease',
  'token check of enter',
  'cancel check of enter',
  'nobody overtakes at a gate',
  'a run begins once',
  'a run that waits is told so again',
  'a run that has ended does not begin again',
] as const

export type Mutant = (typeof mutants)[number]

export interface Rules {
  readonly suspectAfter: number
  readonly poisonAfter: number
  readonly without?: Mutant | undefined
}

export const starts = ({ epoch, commit }: WorkerRecord): number => epoch - (commit?.epoch ?? 0)

/** A worker that is not there looks like one that nobody ever claimed. */
export function record(store: Store, id: string): WorkerRecord {
  return store.workers[id] ?? newRecord({ status: 'terminal' })
}

/** own: this run only; whole: for good, through an ancestor or itself. */
export function readCancellation(store: Store, id: string, rules: Rules): 'own' | 'whole' | null {
  const { cancelled } = store.session
  if (cancelled.length === 0) return null
  const { path, run } = record(store, id)
  const probes = rules.without === 'path check of cancel' ? [] : path
  // A run waits for the first runs of its children alone, and these for those of theirs.
  const lastLater = run === 1 ? probes.findLastIndex((one) => !one.endsWith(':1')) : probes.length
  const whole = probes.some(
    (one, level) =>
      (level >= lastLater && cancelled.includes(one)) || cancelled.includes(`${one.slice(0, one.lastIndexOf(':'))}:*`),
  )
  if (whole || cancelled.includes(`${id}:*`)) return 'whole'
  return cancelled.includes(`${id}:${run}`) ? 'own' : null
}

type ModelLane = 'signals' | 'results' | 'inbox'

/** Does a message in this lane wake a worker in this status, with this wait? */
export function wakes(status: string, wait: string, lane: ModelLane, text: string): boolean {
  if (status === 'idle') return true
  if (status !== 'parked') return false
  if (wait === 'any' || lane === 'signals') return true
  return lane === 'results' && text === wait
}

export function writeQueued(store: Store, id: string): void {
  store.run = [...store.run, id]
}

/** Writes the message, and queues the worker if the message wakes it. */
export function writeMail(store: Store, id: string, lane: ModelLane, text: string, rules: Rules): boolean {
  const worker = record(store, id)
  worker[lane] = [...worker[lane], text]
  if (!wakes(worker.status, worker.wait, lane, text)) return false
  if (rules.without !== 'run-queue entry') writeQueued(store, id)
  worker.status = 'queued'
  return true
}

export const out = (wakeups: readonly Dated<string>[], rules: Rules): number =>
  rules.without === 'stale wake-ups' ? wakeups.length : wakeups.filter((wakeup) => !wakeup.over).length

/** While wake-ups out < min(workers queued, max(1, slots - busy)): one more wake-up. */
export function writeWakeups(store: Store, seed: number, rules: Rules): string[] {
  if (rules.without === 'wake-up rule') return []
  const queued = store.run.length
  const wanted = Math.min(queued, store.slots > 1 ? Math.max(1, store.slots - store.busy.length) : 1)
  const wakeups = Array.from(
    { length: Math.max(0, wanted - out(store.wakeups, rules)) },
    (_, index) => `b${seed + index}`,
  )
  for (const wakeup of wakeups) writeWakeup(store, wakeup)
  return wakeups
}

/** Sets a wake-up, anew if it is there. */
export function writeWakeup(store: Store, wakeup: string): void {
  store.wakeups = [...store.wakeups.filter(({ id }) => id !== wakeup), { id: wakeup, over: false }]
}

export function dropWakeup(store: Store, wakeup: string, wasBusy: boolean): void {
  store.wakeups = store.wakeups.filter(({ id }) => id !== wakeup)
  if (wasBusy) store.busy = store.busy.filter(({ id }) => id !== wakeup)
}

/** An open ask ends in this state. */
export function writeAskEnd(store: Store, id: string, state: 'answered' | 'expired' | 'withdrawn', rules: Rules): void {
  const ask = store.asks[id] as AskRecord
  ask.state = state
  const worker = record(store, ask.worker)
  worker.asks = worker.asks.filter((other) => other !== id)
  store.timers = store.timers.filter((other) => other !== id)
  if (rules.without !== 'an ended ask leaves the inbox') store.open = store.open.filter((other) => other !== id)
}

/** What only the ended run could have used: its asks, and answers and results that nobody received. `hadSignals`: whether the record had signals before. */
export function writeRunLeftovers(
  store: Store,
  worker: WorkerRecord,
  { awaited, hadSignals }: { readonly awaited: boolean; readonly hadSignals: boolean },
  rules: Rules,
): void {
  if (hadSignals) {
    if (rules.without !== 'an ended run withdraws its asks')
      for (const ask of worker.asks) writeAskEnd(store, ask, 'withdrawn', rules)
    worker.signalsTaken += worker.signals.length
    worker.signals = []
  }
  if (!awaited) return
  worker.resultsTaken += worker.results.length
  worker.results = []
}

export const isRoot = (id: string): boolean => id === rootId
