/** Duty: a session above a standing prompt: its live tree while its first worker is busy, and lines that stay. */
import type { Roster } from '../../client/event/activity.ts'
import type { WorkerReport } from '../../client/report.ts'
import type { RawEvent } from '../../core/event/event.ts'
import { isOver } from '../../core/worker/run/activity.ts'
import { EventLines } from '../../words/lines/event-lines.ts'
import { workerLogLine } from '../view/lines/worker-log-line.ts'
import { liveLines } from '../view/live/live-lines.ts'
import { LiveSession } from '../view/live/live-session.ts'
import { paint } from './output.ts'
import { lasting, type SessionView } from './session-view.ts'
import type { StandingPrompt } from './standing-prompt.ts'

/** The most rows of the tree: what was said before must stay in sight. */
const rowsMax = 12
const tickMs = 1_000

export class PromptView implements SessionView {
  readonly #prompt: StandingPrompt
  readonly #session = new LiveSession()
  readonly #ticking: NodeJS.Timeout
  #lines = new EventLines()
  #hasEnded = false

  constructor(prompt: StandingPrompt) {
    this.#prompt = prompt
    prompt.status = (columns, rows) => this.#frame(columns, rows)
    this.#ticking = setInterval(() => this.isBusy && prompt.refresh(), tickMs)
  }

  /** Whether a run of the first worker is in progress. */
  get isBusy(): boolean {
    const root = this.#session.members().find(({ id }) => id === this.#session.rootId)
    return root !== undefined && !isOver(root.activity)
  }

  tell(line: string): void {
    this.#prompt.tell(line)
  }

  watch(workerId: string): void {
    this.#session.rootId = workerId
    this.#lines = new EventLines(workerId)
  }

  showCommit(commit: readonly RawEvent[], roster: Roster): void {
    for (const event of commit) this.#session.note(event, roster, Date.now())
    const own = commit.filter(({ type, workerId }) => this.#staysFor(type, workerId))
    const lines = this.#lines.of(own, roster).map((line) => paint('dim', line, process.stderr))
    if (lines.length > 0) this.#prompt.tell(...lines)
    this.#prompt.refresh()
  }

  showLive(event: RawEvent, roster: Roster): void {
    const line = workerLogLine(event, roster)
    if (line !== undefined) this.#prompt.tell(line)
    else this.#session.note(event, roster, Date.now())
    this.#prompt.refresh()
  }

  fill(workers: readonly WorkerReport[], roster: Roster, readAt: number): void {
    this.#session.fill(workers, roster, readAt)
    this.#prompt.refresh()
  }

  resume(): void {
    this.#hasEnded = false
  }

  end(): void {
    this.#hasEnded = true
    this.#prompt.refresh()
  }

  [Symbol.dispose](): void {
    clearInterval(this.#ticking)
    this.end()
  }

  /** For the first worker, everything that it does stays; for the others, what a person may want to read again. The tree shows the rest. */
  #staysFor(type: RawEvent['type'], workerId: string): boolean {
    // The prompt that takes the answer shows the ask.
    return type !== 'ask.opened' && (workerId === this.#session.rootId || lasting.has(type))
  }

  #frame(columns: number, rows: number): readonly string[] {
    if (this.#hasEnded || !this.isBusy) return []
    return liveLines(this.#session, {
      columns,
      rows: Math.max(1, Math.min(rows, rowsMax)),
      now: Date.now(),
      paint: (style, text) => paint(style, text, process.stderr),
    })
  }
}
