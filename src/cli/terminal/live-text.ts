/**
 * Duty: on a terminal, the words of a model while it speaks: the last lines of its reply, drawn again in place below what is told.
 * L-a They are a view of what passes, never data: they are wiped when the reply is recorded, and the result is printed whole.
 * L-b Where there is no terminal nothing of them is written, so that what is piped holds finished lines alone.
 */
import type { RawEvent } from '../../core/event/event.ts'
import { textOf } from '../view/text-of.ts'
import { DrawnLines } from './drawn-lines.ts'
import { escapeText } from './escape.ts'
import { canDraw, write } from './output.ts'
import { breakText } from './text-width.ts'

const drawEveryMs = 40
const linesMax = 8
/** More than that many lines of a wide terminal hold. */
const charsKept = 4_000

export class LiveText implements Disposable {
  readonly #stream: NodeJS.WriteStream
  readonly #lines: DrawnLines
  #workerId: string | undefined
  #text = ''
  #iteration: unknown
  /** Of this run: the iteration whose reply is recorded; what is still said of it comes late. */
  #replied = 0
  #timer: NodeJS.Timeout | undefined

  constructor(stream: NodeJS.WriteStream = process.stderr) {
    this.#stream = stream
    this.#lines = new DrawnLines(stream)
  }

  /** Shows what this worker's model says. */
  watch(workerId: string): void {
    this.#workerId = workerId
  }

  /** Nothing is shown where nobody sees it. */
  get isShown(): boolean {
    return canDraw(this.#stream)
  }

  note({ type, workerId, details }: RawEvent): void {
    if (workerId !== this.#workerId || !this.isShown) return
    switch (type) {
      case 'text.delta':
        this.#say(details.iteration, textOf(details.text))
        return
      case 'model.replied':
        this.#replied = Number(details.iteration ?? 0)
        // A model may speak again before its reply before is recorded.
        if (!(Number(this.#iteration) > this.#replied)) this.#clear()
        return
      case 'model.blanked':
      case 'turn.retried':
        this.#clear()
        return
      case 'run.completed':
      case 'worker.failed':
      case 'worker.cancelled':
        this.#replied = 0
        this.#clear()
        return
      default:
    }
  }

  /** A line of its own, above what is drawn. */
  tell(line: string): void {
    this.#lines.wipe()
    write(this.#stream, `${line}\n`)
    if (this.#text !== '') this.#draw()
  }

  /** Shows nothing more. Safe to call twice. */
  end(): void {
    this.#clear()
  }

  [Symbol.dispose](): void {
    this.end()
  }

  #say(iteration: unknown, text: string): void {
    if (Number(iteration ?? Number.POSITIVE_INFINITY) <= this.#replied) return
    if (iteration !== this.#iteration) this.#text = ''
    this.#iteration = iteration
    this.#text = (this.#text + text).slice(-charsKept)
    this.#timer ??= setTimeout(() => this.#draw(), drawEveryMs)
  }

  #clear(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#text = ''
    this.#lines.wipe()
  }

  #draw(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    const preview = escapeText(this.#text.trimEnd()).replaceAll('\t', '  ')
    const rows = Math.max(1, Math.min(linesMax, (this.#stream.rows ?? linesMax * 2) - 2))
    this.#lines.draw(breakText(preview, this.#lines.columns).slice(-rows))
  }
}
