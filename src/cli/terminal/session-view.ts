/**
 * Duty: the ways in which a command shows a session while it runs: a live tree on a terminal, lines in a pipe, objects with --json.
 * VIEW-1 Only --json writes events to stdout. Tree and lines are for people, and go to stderr.
 */
import type { Roster } from '../../client/event/activity.ts'
import type { WorkerReport } from '../../client/report.ts'
import type { EventType, RawEvent } from '../../core/event/event.ts'
import { EventLines } from '../../words/lines/event-lines.ts'
import { ToolLines } from '../view/lines/tool-lines.ts'
import { workerLogLine } from '../view/lines/worker-log-line.ts'
import { LiveTree } from './live-tree.ts'
import { printJson, tell } from './output.ts'

export interface SessionView extends Disposable {
  /** Writes a line for people, above what is drawn. */
  tell(line: string): void
  /** Selects the first worker. `printed`: whether each of its results is printed, or only the last; then its failures are told like those of others. */
  watch(workerId: string, printed?: 'each' | 'last'): void
  /** Shows events that were stored together, in order. The roster has noted them. */
  showCommit(commit: readonly RawEvent[], roster: Roster): void
  /** Shows an event that is not stored (states, streamed text, tools and their progress, log lines). */
  showLive(event: RawEvent, roster: Roster): void
  /** Takes over what the records said at this moment. A view without it needs no records. */
  fill?(workers: readonly WorkerReport[], roster: Roster, readAt: number): void
  /** Begins to show the next run of a conversation. */
  resume(): void
  /** Leaves the last state on the screen. Safe to call twice. */
  end(): void
}

export function sessionView(json: boolean | undefined): SessionView {
  return json ? new JsonView() : (treeView() ?? new LinesView())
}

/** Undefined without a terminal that can show a tree. */
export function treeView(): SessionView | undefined {
  const tree = new LiveTree()
  return tree.isShown ? new TreeView(tree) : undefined
}

/** Lines that are written stay, so there is nothing to end. */
class WrittenView {
  readonly tell = tell

  watch(_workerId: string, _printed?: 'each' | 'last'): void {}

  resume(): void {}

  end(): void {}

  [Symbol.dispose](): void {}
}

class JsonView extends WrittenView implements SessionView {
  showCommit(commit: readonly RawEvent[]): void {
    for (const event of commit) printJson(event)
  }

  showLive(event: RawEvent): void {
    printJson(event)
  }
}

/** Events that a person may want to read again after the tree has gone on. The tree shows all others. */
export const lasting: ReadonlySet<EventType> = new Set<EventType>([
  'ask.expired',
  'ask.opened',
  'events.trimmed',
  'message.deadLettered',
  'message.redriven',
  'session.closeRequested',
  'session.cancelRequested',
  'session.limited',
  'session.approvalChanged',
  'session.paused',
  'session.resumed',
  'session.retried',
  'session.forked',
  'tool.failed',
  'tool.unknown',
  'turn.retried',
  'worker.cancelRequested',
  'worker.failed',
])

class TreeView implements SessionView {
  readonly #tree: LiveTree
  #lines = new EventLines()
  #resultOf: string | undefined

  constructor(tree: LiveTree) {
    this.#tree = tree
  }

  tell(line: string): void {
    this.#tree.tell(line)
  }

  watch(workerId: string, printed: 'each' | 'last' = 'each'): void {
    this.#resultOf = printed === 'each' ? workerId : undefined
    this.#lines = new EventLines(this.#resultOf)
    this.#tree.watch(workerId)
  }

  showCommit(commit: readonly RawEvent[], roster: Roster): void {
    for (const event of commit) this.#tree.note(event, roster)
    const kept = commit.filter(
      ({ type, workerId }) => lasting.has(type) && !(type === 'worker.failed' && workerId === this.#resultOf),
    )
    for (const line of this.#lines.of(kept, roster)) this.#tree.tell(line)
  }

  showLive(event: RawEvent, roster: Roster): void {
    const line = workerLogLine(event, roster)
    if (line !== undefined) this.#tree.tell(line)
    else this.#tree.note(event, roster)
  }

  fill(workers: readonly WorkerReport[], roster: Roster, readAt: number): void {
    this.#tree.fill(workers, roster, readAt)
  }

  resume(): void {
    this.#tree.resume()
  }

  end(): void {
    this.#tree.end()
  }

  [Symbol.dispose](): void {
    this.#tree[Symbol.dispose]()
  }
}

class LinesView extends WrittenView implements SessionView {
  readonly #tools = new ToolLines()
  #lines = new EventLines()

  override watch(workerId: string, printed: 'each' | 'last' = 'each'): void {
    this.#lines = new EventLines(printed === 'each' ? workerId : undefined)
  }

  showCommit(commit: readonly RawEvent[], roster: Roster): void {
    for (const line of this.#lines.of(commit, roster)) tell(line)
  }

  showLive(event: RawEvent, roster: Roster): void {
    const line = workerLogLine(event, roster)
    if (line !== undefined) tell(line)
    for (const progress of this.#tools.of(event, roster)) tell(progress)
  }
}
