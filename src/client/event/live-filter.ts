/**
 * Duty: decide which of the transient notes that arrive one follower gets. When another follower joins, nodes repeat what their turns do on the
 * channel of all followers; and notes of two nodes may overtake each other.
 * LIVE-FILTER-1 Text comes once, in order, and from its beginning: repeated text is cut off. Text whose beginning the node is about to repeat
 *               waits for that repetition, but not for long.
 * LIVE-FILTER-2 A state comes when it differs from the state before it, which it names, and never after a state of a later claim.
 * LIVE-FILTER-3 Only notes that nodes send are judged here. A note without the details to judge it by passes.
 */
import type { RawEvent } from '../../core/event/event.ts'
import type { LiveNote } from '../../core/ports/live.ts'
import type { LiveWord } from '../../store/event/live-channel.ts'

/** After this time, the beginning of a text is not expected any more. */
const repetitionMsMax = 2_000
/** How many workers are remembered. The worker whose notes are oldest is forgotten first. */
const workersMax = 10_000

const none: ReadonlySet<unknown> = new Set()

interface SeenWorker {
  epoch: number
  state: unknown
  run: unknown
  /** For each sort of text, the model call that writes it, and the offset that comes next. */
  readonly texts: Map<string, { readonly request: unknown; readonly end: number }>
  /** The ids of calls that run. */
  readonly calls: Set<unknown>
}

export class LiveFilter {
  readonly #workers = new Map<string, SeenWorker>()
  #joinedAt = 0

  /** Notes that the follower has announced itself: nodes will repeat what their turns do. */
  join(now: number): void {
    this.#joinedAt = now
  }

  /** The notes of the word that the follower gets. */
  pass({ workerId, notes, isRepeat }: LiveWord, now: number): LiveNote[] {
    const seen = this.#worker(workerId)
    const knownCalls = isRepeat ? new Set(seen.calls) : none
    return notes.flatMap((note) => {
      if (isRepeat && note[0].startsWith('tool.') && knownCalls.has(note[1].toolCallId)) return []
      const passed = this.#note(seen, note, isRepeat === true, now)
      return passed === null ? [] : [passed]
    })
  }

  /** A stored event that the follower gets tells about calls, too. */
  noteStored({ type, workerId, details }: RawEvent): void {
    if (type === 'tool.started') this.#worker(workerId).calls.add(details.toolCallId)
    if (type === 'tool.succeeded' || type === 'tool.failed' || type === 'tool.unknown')
      this.#workers.get(workerId)?.calls.delete(details.toolCallId)
  }

  #note(seen: SeenWorker, note: LiveNote, isRepeat: boolean, now: number): LiveNote | null {
    const [type, details] = note
    switch (type) {
      case 'worker.stateChanged':
        return stateNote(seen, details)
      case 'text.delta':
      case 'reasoning.delta':
        return this.#text(seen, note, isRepeat, now)
      case 'tool.started':
        seen.calls.add(details.toolCallId)
        return note
      case 'tool.progress':
      case 'worker.logged':
      case 'iteration.completed':
      case 'run.warned':
        return note
    }
  }

  #text(seen: SeenWorker, note: LiveNote, isRepeat: boolean, now: number): LiveNote | null {
    const [type, details] = note
    const { offset, request, text } = details
    if (typeof offset !== 'number' || typeof text !== 'string') return note
    const known = seen.texts.get(type)
    const end = known?.request === request ? (known?.end ?? 0) : 0
    const hasGap = offset > end
    // If a known text has a gap, a part was lost: the follower has its beginning.
    if (hasGap && end === 0 && !isRepeat && now - this.#joinedAt < repetitionMsMax) return null
    if (offset + text.length <= end) return null
    seen.texts.set(type, { request, end: offset + text.length })
    return offset >= end ? note : [type, { ...details, text: text.slice(end - offset), offset: end }]
  }

  #worker(id: string): SeenWorker {
    let seen = this.#workers.get(id)
    if (seen === undefined) {
      seen = { epoch: 0, state: undefined, run: undefined, texts: new Map(), calls: new Set() }
      this.#workers.set(id, seen)
      for (const [oldest] of this.#workers) {
        if (this.#workers.size <= workersMax) break
        this.#workers.delete(oldest)
      }
    }
    return seen
  }
}

/** Adds the state before. Null for a state that is not new. */
function stateNote(seen: SeenWorker, details: LiveNote[1]): LiveNote | null {
  const { state, run, epoch } = details
  const claim = Number(epoch ?? seen.epoch)
  if (claim < seen.epoch || (claim === seen.epoch && state === seen.state && run === seen.run)) return null
  const { state: from, run: fromRun } = seen
  seen.epoch = claim
  seen.state = state
  seen.run = run
  if (state !== 'usingTool') seen.calls.clear()
  const before = { ...(from !== undefined && { from }), ...(fromRun !== undefined && { fromRun }) }
  return ['worker.stateChanged', { ...details, ...before }]
}
