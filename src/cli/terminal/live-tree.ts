/**
 * Duty: on a terminal, the workers of a session while it runs: a tree that is drawn again in place below all other lines.
 * LIVETREE-1 It is a view, never data: at the end the last frame stays, and the result is printed whole below it.
 * LIVETREE-2 A flood of events costs no more than the frames that a person can see.
 */
import type { Roster } from '../../client/event/activity.ts'
import type { WorkerReport } from '../../client/report.ts'
import type { RawEvent } from '../../core/event/event.ts'
import { liveLines } from '../view/live/live-lines.ts'
import { LiveSession } from '../view/live/live-session.ts'
import { DrawnLines } from './drawn-lines.ts'
import { canDraw, paint, write } from './output.ts'

const drawEveryMs = 100
/** Times are shown in seconds. */
const tickMs = 1_000
const rowsDefault = 24
/** How many rows above the tree stay free for lines that are kept. */
const rowsAbove = 2

export class LiveTree implements Disposable {
  readonly #stream: NodeJS.WriteStream
  readonly #lines: DrawnLines
  readonly #session = new LiveSession()
  readonly #onResize = () => this.#drawSoon(0)
  #timer: NodeJS.Timeout | undefined
  #nextAt = 0
  #hasEnded = false

  constructor(stream: NodeJS.WriteStream = process.stderr) {
    this.#stream = stream
    this.#lines = new DrawnLines(stream)
    if (this.isShown) stream.on('resize', this.#onResize)
  }

  /** Whether there is a terminal that can show the tree. */
  get isShown(): boolean {
    return canDraw(this.#stream)
  }

  /** Selects the worker whose words are shown below the tree. */
  watch(workerId: string): void {
    this.#session.rootId = workerId
  }

  /** Notes an event that the roster has noted. */
  note(event: RawEvent, roster: Roster): void {
    if (!this.isShown) return
    this.#session.note(event, roster, Date.now())
    this.#drawSoon(drawEveryMs)
  }

  /** Takes over what the records said at this moment. */
  fill(workers: readonly WorkerReport[], roster: Roster, readAt: number): void {
    this.#session.fill(workers, roster, readAt)
    this.#drawSoon(drawEveryMs)
  }

  /** Writes a line above what is drawn. */
  tell(line: string): void {
    if (this.#lines.areThere) this.#lines.draw(this.#frame(), [line])
    else write(this.#stream, `${line}\n`)
  }

  /** Begins to draw again, for the next run of a conversation. */
  resume(): void {
    this.#hasEnded = false
  }

  /** Draws the last frame, which stays. Safe to call twice. */
  end(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    if (this.#hasEnded || !this.isShown) return
    this.#hasEnded = true
    this.#lines.draw(this.#frame())
    this.#lines.leave()
  }

  [Symbol.dispose](): void {
    this.end()
    this.#stream.off('resize', this.#onResize)
  }

  #drawSoon(ms: number): void {
    if (this.#hasEnded || !this.isShown) return
    const at = Date.now() + ms
    if (this.#timer !== undefined && this.#nextAt <= at) return
    clearTimeout(this.#timer)
    this.#nextAt = at
    this.#timer = setTimeout(() => this.#draw(), ms)
  }

  #draw(): void {
    this.#timer = undefined
    this.#lines.draw(this.#frame())
    this.#drawSoon(tickMs)
  }

  #frame(): string[] {
    return liveLines(this.#session, {
      columns: this.#lines.columns,
      rows: Math.max(1, (this.#stream.rows || rowsDefault) - rowsAbove),
      now: Date.now(),
      paint: (style, text) => paint(style, text, this.#stream),
    })
  }
}
