/**
 * Duty: read the history of a worker entry by entry, and keep what the rules need: who sent what, how the runs ended, and what is open.
 * FOLD-1 Of a run that is over it keeps only counts, so that a long history takes no memory.
 * FOLD-2 It passes over entries of unknown types, as the runtime does.
 */
import {
  type AskedEntry,
  type AskWithdrawnEntry,
  type CancelledEntry,
  type Entry,
  isGiven,
  type OrderedEntry,
  type ReceivedEntry,
  type ResultStatus,
  type RetriedEntry,
  type SpawnNote,
} from '../core/history/entry.ts'
import { decodeHead, inputPositionOf, type ResultMessage } from '../core/worker/message/message.ts'
import type { Say } from './finding.ts'

/** Every sort of signal counts as one. */
export type Sort = 'input' | 'result' | 'signal'

export interface EndedRun {
  readonly run: number
  readonly status: ResultStatus
  readonly position: number
}

export interface SpawnedChild extends SpawnNote {
  readonly run: number
}

export const sorts: readonly Sort[] = ['input', 'result', 'signal']
/** The positions of so many missing inputs are kept. A larger hole is reported by its count. */
const holesMax = 1_000

/** What one run has received and asked for so far. */
class RunFold {
  readonly received: Record<Sort, number> = { input: 0, result: 0, signal: 0 }
  readonly joined = new Map<string, number>()
  readonly results = new Set<string>()
  /** Timers and answers that were received. */
  readonly signals = new Set<string>()
  /** Timers and asks, without those that were withdrawn. */
  signalsAsked = 0
  /** Asks that nobody has answered, by the call of a model that opened them. The result of the call withdraws them. */
  readonly openAsks = new Map<string, Set<string>>()
  calls = 0
  steps = 0
  readonly started = new Set<string>()
  readonly answered = new Set<string>()
  /** A handler receives this message again: it is counted once. */
  repeated: string | null = null

  /** Children whose results the run has not received. */
  get missing(): string[] {
    return [...this.joined.keys()].filter((child) => !this.results.has(child))
  }
}

export class HistoryFold {
  readonly ended: Record<Sort, Record<ResultStatus, number>>
  readonly runs: EndedRun[] = []
  /** The run that has not ended. */
  open = new RunFold()
  /** The number of the run in progress, or of the next one. */
  run = 1
  /** Orders that were received and begin no run. */
  orders = 0
  /** Runs that failed as poison without an input in the history: their input is a dead letter. */
  deadRuns = 0
  /** Runs that ended by a commit while children had not reported. */
  readonly runsWithMissing: { readonly run: number; readonly children: readonly string[] }[] = []
  readonly children: SpawnedChild[] = []
  /** Inputs by sender; null is a sender outside. */
  readonly arrived = new Map<string | null, number>()
  readonly sent = new Map<string, number>()
  /** Results of each child in any run. */
  readonly resultsOf = new Map<string, number>()
  /** Positions of inputs that are missing. */
  readonly holes = new Set<number>()
  last: Entry | null = null
  lastEpoch = 0
  /** With how many messages the history began. These messages came from elsewhere: nobody sent or received them. */
  given = 0
  /** The message of an order that was received and is still to be carried out. */
  owedOrder: string | null = null
  #place = -1
  /** Inputs that steered a run and stand behind that place. */
  readonly #early = new Set<number>()
  readonly #say: Say
  readonly #isAgent: boolean
  readonly #idOf: (sentTo: string) => string
  /** The run that ended last, if it failed: somebody may let it go on. */
  #failed: { readonly run: number; readonly open: RunFold; readonly isDead: boolean } | null = null

  /** `idOf`: the id of a worker to which a message was sent. In a copy of a session that may be the id of its original. */
  constructor(say: Say, isAgent: boolean, idOf: (sentTo: string) => string = (id) => id) {
    this.#idOf = idOf
    this.#say = say
    this.#isAgent = isAgent
    const none = () => ({ completed: 0, failed: 0, cancelled: 0 })
    this.ended = { input: none(), result: none(), signal: none() }
  }

  get inputs(): number {
    return this.total('input')
  }

  /** Messages of this sort in the history. */
  total(sort: Sort): number {
    const { completed, failed, cancelled } = this.ended[sort]
    return completed + failed + cancelled + this.open.received[sort]
  }

  add(position: number, entry: Entry): void {
    const unreadable = () =>
      this.#say('I4', `entry-${position}`, `the entry at position ${position} of its history cannot be read`)
    if ((entry.type as string) === 'unreadable') unreadable()
    try {
      this.#add(position, entry)
    } catch {
      // Another program may have written the entry. The audit reports it, and reads on.
      unreadable()
    }
  }

  #add(position: number, entry: Entry): void {
    if (isGiven(entry)) {
      if (position !== this.given)
        this.#say('I4', 'given', `an entry of run 0 stands at position ${position}, behind entries of the worker`)
      this.given++
      return
    }
    if (entry.type === 'retried') this.#retried(entry)
    this.#order(position, entry)
    if (entry.type === 'received') this.#received(entry)
    else if (entry.type === 'step') this.open.steps++
    else if (entry.type === 'user' && !entry.nudge && !entry.pushed) this.#input(entry.from ?? null)
    else if (entry.type === 'ordered') this.#ordered(entry)
    else if (entry.type === 'compacted') this.#orderEnds(entry.order)
    else if (entry.type === 'orderRefused') this.#orderEnds(entry.message)
    else if (entry.type === 'delegated') this.#spawned(entry.spawned)
    else if (entry.type === 'asked') this.#asked(entry)
    else if (entry.type === 'askWithdrawn') this.#withdrawn(entry)
    else if (entry.type === 'toolResult') this.#answered(entry)
    else if (entry.type === 'cancelled') this.#cancelled(entry)
    if (entry.type === 'completed' || entry.type === 'failed' || entry.type === 'cancelled') this.#end(entry, position)
    this.last = entry
  }

  /** The run is open again, with all that it had received. What its end cancelled stays cancelled. */
  #retried({ run, reopened = [], messageId }: RetriedEntry): void {
    const failed = this.#failed
    if (failed?.run !== run) return
    this.#failed = null
    for (const sort of sorts) this.ended[sort].failed -= failed.open.received[sort]
    this.runs.pop()
    if (failed.isDead) this.deadRuns--
    this.open = failed.open
    this.run = run
    for (const id of reopened) this.open.answered.delete(id)
    for (const child of this.open.missing) this.open.results.add(child)
    this.open.signalsAsked = this.open.received.signal
    this.open.repeated = messageId ?? null
  }

  // I4, I5: runs follow each other, epochs never decrease, and each message of an agent stands at the position in its id.
  #order(position: number, entry: Entry): void {
    const { run = this.run, epoch } = entry
    if (run !== this.run) {
      this.#say('I4', 'run', `an entry of run ${run} at position ${position}, where run ${this.run} is next`)
      this.run = run
    }
    if (epoch !== undefined) {
      if (epoch < this.lastEpoch)
        this.#say('I5', 'epoch', `epoch ${epoch} after ${this.lastEpoch} at position ${position} of its history`)
      this.lastEpoch = epoch
    }
    const place = this.#isAgent && 'id' in entry && /^m(\d+)$/.exec(entry.id)?.[1]
    if (place && Number(place) !== position)
      this.#say('I4', 'position', `entry ${place} of its history stands at position ${position}`)
  }

  #received(entry: ReceivedEntry): void {
    const { message } = entry
    const isRepeated = this.open.repeated === message.id
    if (isRepeated) this.open.repeated = null
    else if (message.kind === 'input') {
      if (!this.#isAgent && message.when === undefined) this.#checkPlace(message.id)
      else if (!this.#isAgent) this.#checkEarly(message.id)
      this.#input(message.from)
    } else if (message.kind === 'result') this.#result(message)
    else {
      const { kind, id } = message
      if (this.open.signals.has(id)) this.#say('I2', kind, `${kind} ${id} was received twice`)
      this.open.signals.add(id)
      for (const asks of this.open.openAsks.values()) asks.delete(id)
      this.open.received.signal++
    }
    this.open.signalsAsked += (entry.timers?.length ?? 0) + (entry.asks?.length ?? 0)
    for (const to of entry.sent ?? []) add(this.sent, this.#idOf(to))
    this.#spawned(entry.spawned ?? [])
  }

  #orderEnds(message: string | undefined): void {
    if (message === this.owedOrder) this.owedOrder = null
  }

  #cancelled({ dropped, onCancel }: CancelledEntry): void {
    this.owedOrder = null
    if (dropped) this.#dropped(dropped)
    for (const to of onCancel?.sent ?? []) add(this.sent, this.#idOf(to))
  }

  // A cancelled run takes the message along that it was to begin with.
  #dropped({ id, mail }: { readonly id: string; readonly mail: string }): void {
    const head = decodeHead(mail)
    if (!this.#isAgent) this.#checkPlace(id)
    this.#input(head?.kind === 'input' ? head.from : null)
  }

  #result(message: ResultMessage): void {
    this.open.received.result++
    this.open.results.add(message.from)
    add(this.resultsOf, message.from)
  }

  // I2, I3: a worker receives inputs in the order in which they came, and each once.
  #checkPlace(id: string): void {
    const place = inputPositionOf(id) ?? this.#place + 1
    if (place <= this.#place || this.#early.has(place)) {
      const isLate = this.holes.delete(place)
      if (isLate) this.#say('I3', 'order', `message ${id} was received after later ones`)
      else this.#say('I2', 'input', `message ${id} is in its history twice`)
      return
    }
    for (let hole = this.#place + 1; hole < place && this.holes.size < holesMax; hole++)
      if (!this.#early.delete(hole)) this.holes.add(hole)
    this.#place = place
  }

  /** An input that steered a run came before its turn. */
  #checkEarly(id: string): void {
    const place = inputPositionOf(id)
    if (place === null) return
    const isFirst = place > this.#place ? !this.#early.has(place) : this.holes.delete(place)
    if (!isFirst) this.#say('I2', 'input', `message ${id} is in its history twice`)
    else if (place > this.#place && this.#early.size < holesMax) this.#early.add(place)
  }

  #input(from: string | null): void {
    this.open.received.input++
    add(this.arrived, from)
  }

  /** An order to run begins a run like an input; any other belongs to none. */
  #ordered({ order, message }: OrderedEntry): void {
    if (order.do === 'run') this.#input(null)
    else {
      if (order.do === 'compact') this.owedOrder = message
      this.orders++
      add(this.arrived, null)
    }
  }

  #spawned(notes: readonly SpawnNote[]): void {
    for (const note of notes) {
      this.children.push({ ...note, run: this.run })
      add(this.sent, note.id)
      this.open.calls = Math.max(this.open.calls, note.call)
      if (!note.detached) this.open.joined.set(note.id, note.call)
    }
  }

  #asked({ toolCallId, asks }: AskedEntry): void {
    this.open.signalsAsked += asks.length
    const open = this.open.openAsks.get(toolCallId) ?? new Set()
    for (const { id } of asks) open.add(id)
    this.open.openAsks.set(toolCallId, open)
  }

  #withdrawn({ toolCallId, ask }: AskWithdrawnEntry): void {
    if (this.open.openAsks.get(toolCallId)?.delete(ask)) this.open.signalsAsked--
  }

  #answered(entry: Entry & { type: 'toolResult' }): void {
    const { toolCallId, sent = [] } = entry
    if (this.open.answered.has(toolCallId)) this.#say('I10', 'answer', `call ${toolCallId} has two results`)
    this.open.answered.add(toolCallId)
    this.open.signalsAsked -= this.open.openAsks.get(toolCallId)?.size ?? 0
    this.open.openAsks.delete(toolCallId)
    for (const to of sent) add(this.sent, this.#idOf(to))
  }

  #end(entry: Entry & { type: ResultStatus }, position: number): void {
    const { open, run } = this
    for (const sort of sorts) this.ended[sort][entry.type] += open.received[sort]
    this.runs.push({ run, status: entry.type, position })
    const isDead = entry.type === 'failed' && entry.failure.code === 'poison' && open.received.input === 0
    if (isDead) this.deadRuns++
    const { missing } = open
    if (missing.length > 0 && entry.epoch !== undefined) this.runsWithMissing.push({ run, children: missing })
    this.#failed = entry.type === 'failed' ? { run, open, isDead } : null
    this.open = new RunFold()
    this.run = run + 1
  }
}

function add<Key>(counts: Map<Key, number>, key: Key): void {
  counts.set(key, (counts.get(key) ?? 0) + 1)
}
