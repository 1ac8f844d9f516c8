/**
 * Duty: show what each worker of a session did when, as bars for a waterfall, made of stored events, and what it does now, as its report says.
 * TIMELINE-1 Bars of one worker do not overlap, except those of calls that ran beside each other and of asks.
 * TIMELINE-2 A worker that waits for children or for somebody has a bar that says so while it waits, not only once it goes on.
 * TIMELINE-3 It reads events and decides nothing. Something that was not stored (a tool that runs now) has no bar of its own.
 * TIMELINE-4 Only the report knows what an open bar is: a first turn has written nothing yet, and events tell of a wait once it ends.
 */
import type { RawEvent } from '../../core/event/event.ts'
import type { HoldupReason } from '../holdup.ts'
import type { WorkerReport } from '../report.ts'
import type { Session } from './session.ts'

export const barKinds = ['queue', 'working', 'model', 'tool', 'children', 'person', 'timer', 'retry', 'lost'] as const
/**
 * queue: it waits for a slot. working: its code, or what nothing below says. children, person, timer, retry: it waits for these. lost: a turn whose node
 * died or lost its lease; another node did it again.
 */
export type BarKind = (typeof barKinds)[number]

export interface TimelineBar {
  readonly workerId: string
  readonly kind: BarKind
  /** In ms since 1970, by the clock of Redis. */
  readonly from: number
  /** Null: it goes on. */
  readonly to: number | null
  /** The model, the tool, the ask, the last words of a node; null for none. */
  readonly label: string | null
}

export interface Timeline {
  readonly from: number | null
  readonly to: number | null
  /** False: the first events of the session are not kept any more. */
  readonly isComplete: boolean
  readonly bars: readonly TimelineBar[]
}

export async function timelineOf(session: Pick<Session, 'events' | 'report'>): Promise<Timeline> {
  const fold = new TimelineFold()
  for await (const event of session.events({ after: '0-0', transient: false, follow: false })) fold.add(event)
  const { timeline } = fold
  if (!timeline.bars.some(isUnsure)) return timeline
  const workers = new Map((await session.report()).workers.map((worker) => [worker.id, worker]))
  return { ...timeline, bars: timeline.bars.map((bar) => asReported(bar, workers.get(bar.workerId))) }
}

/** An open bar of which the report may know more (TIMELINE-4). */
function isUnsure({ kind, to }: TimelineBar): boolean {
  return to === null && (kind === 'working' || kind === 'queue')
}

const kindOfWait: Partial<Record<HoldupReason, BarKind>> = {
  slot: 'queue',
  timer: 'timer',
  children: 'children',
  retry: 'retry',
}

function asReported(bar: TimelineBar, worker: WorkerReport | undefined): TimelineBar {
  if (worker === undefined || !isUnsure(bar)) return bar
  const { lifecycle, activity, holdup } = worker
  if (bar.kind === 'queue') return lifecycle === 'busy' && activity !== 'queued' ? { ...bar, kind: 'working' } : bar
  return { ...bar, kind: (holdup && kindOfWait[holdup.reason]) ?? bar.kind }
}

/** What a worker waited for that received such a message. */
const waitFor: Readonly<Record<string, BarKind>> = { result: 'children', timer: 'timer' }

/** What a worker does, and since when. */
interface Doing {
  kind: BarKind
  since: number
}

class TimelineFold {
  readonly #bars: TimelineBar[] = []
  readonly #doing = new Map<string, Doing>()
  /** The children whose results a worker has not received, by the worker. */
  readonly #children = new Map<string, Set<string>>()
  readonly #asks = new Map<string, { readonly workerId: string; readonly from: number; readonly label: string }>()
  #from: number | null = null
  #to: number | null = null
  #isComplete = true

  get timeline(): Timeline {
    const asked = [...this.#asks.values()].map((ask) => ({ ...ask, kind: 'person' as const, to: null }))
    const asking = new Set(asked.map(({ workerId }) => workerId))
    const open = [...this.#doing].flatMap(([workerId, { kind, since }]): TimelineBar[] => {
      const isWaiting = kind === 'working' && (this.#children.get(workerId)?.size ?? 0) > 0
      if (kind === 'working' && asking.has(workerId)) return []
      return [{ workerId, kind: isWaiting ? 'children' : kind, from: since, to: null, label: null }]
    })
    return { from: this.#from, to: this.#to, isComplete: this.#isComplete, bars: [...this.#bars, ...open, ...asked] }
  }

  add({ type, workerId, at, details }: RawEvent): void {
    if (type === 'events.trimmed') {
      this.#isComplete = false
      return
    }
    this.#from ??= at
    this.#to = at
    const text = (name: string) => textIn(details[name])
    // A handler writes nothing before its receive has returned: then its event says how long that took.
    const workedSince = at - Number(details.ms ?? 0)
    switch (type) {
      case 'session.created':
      case 'session.retried':
        if (details.rests !== true) this.#begin(workerId, 'queue', at)
        return
      case 'worker.spawned':
        this.#spawned(workerId, text('id'), details.detached === true, at)
        return
      case 'message.accepted':
        // An order is done without a run, or begins one: only a run has an end that is an event.
        if (details.kind !== 'order' && !this.#doing.has(workerId)) this.#begin(workerId, 'queue', at)
        return
      case 'run.started':
        this.#end(workerId, 'queue', workedSince)
        if (!this.#doing.has(workerId)) this.#begin(workerId, 'working', workedSince)
        return
      case 'model.replied':
      case 'model.blanked':
      case 'context.compacted':
        this.#end(workerId, 'model', at, text('model'))
        return
      case 'tool.succeeded':
      case 'tool.failed':
      case 'tool.unknown':
        this.#called(workerId, at, details.ms, text('toolName'))
        return
      case 'ask.opened':
        this.#asks.set(text('id') ?? '', { workerId, from: at, label: text('question') ?? '' })
        return
      case 'ask.answered':
      case 'ask.expired':
        this.#answered(text('id') ?? '', at)
        return
      case 'message.consumed':
        this.#children.get(workerId)?.delete(text('from') ?? '')
        this.#end(workerId, waitFor[text('kind') ?? ''] ?? 'working', workedSince)
        return
      case 'turn.retried':
        this.#end(workerId, 'working', workedSince)
        this.#retried(workerId, at, Number(details.retryMs ?? 0))
        return
      case 'worker.interrupted':
        this.#end(workerId, 'lost', at, text('lastWords'))
        this.#begin(workerId, 'queue', at)
        return
      case 'run.completed':
      case 'worker.failed':
      case 'worker.cancelled':
        this.#end(workerId, 'working', at)
        this.#doing.delete(workerId)
        this.#children.delete(workerId)
        // Its asks were withdrawn with it, of which there is no event.
        for (const [id, ask] of this.#asks) if (ask.workerId === workerId) this.#answered(id, at)
        return
      default:
        return
    }
  }

  #spawned(parent: string, id: string | null, isDetached: boolean, at: number): void {
    if (id === null) return
    this.#begin(id, 'queue', at)
    if (!isDetached) this.#children.set(parent, (this.#children.get(parent) ?? new Set()).add(id))
  }

  #begin(workerId: string, kind: BarKind, since: number): void {
    this.#doing.set(workerId, { kind, since })
  }

  /** Ends a bar: until then the worker did this. It goes on as working code until something else is known. */
  #end(workerId: string, kind: BarKind, then: number, label: string | null = null): void {
    const doing = this.#doing.get(workerId)
    if (doing === undefined) return
    const at = Math.max(then, doing.since)
    // A wait that ended while the worker still stood in the queue was a wait for a slot.
    const shown = doing.kind === 'queue' && kind === 'working' ? 'queue' : kind
    this.#push({ workerId, kind: shown, from: doing.since, to: at, label })
    this.#begin(workerId, 'working', at)
  }

  /** Calls of one reply run beside each other: each has its own length. */
  #called(workerId: string, at: number, ms: unknown, label: string | null): void {
    const doing = this.#doing.get(workerId)
    const from = typeof ms === 'number' ? at - ms : (doing?.since ?? at)
    this.#push({ workerId, kind: 'tool', from, to: at, label })
    if (doing !== undefined) this.#begin(workerId, 'working', at)
  }

  #answered(id: string, at: number): void {
    const ask = this.#asks.get(id)
    if (ask === undefined) return
    this.#asks.delete(id)
    this.#push({ ...ask, kind: 'person', to: at })
    if (this.#doing.has(ask.workerId)) this.#begin(ask.workerId, 'working', at)
  }

  #retried(workerId: string, at: number, ms: number): void {
    this.#end(workerId, 'working', at)
    this.#push({ workerId, kind: 'retry', from: at, to: at + ms, label: null })
    if (this.#doing.has(workerId)) this.#begin(workerId, 'working', at + ms)
  }

  #push(bar: TimelineBar): void {
    if (bar.to === null || bar.to > bar.from) this.#bars.push(bar)
  }
}

function textIn(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
