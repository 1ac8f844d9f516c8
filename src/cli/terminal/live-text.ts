/**
 * Duty: on a terminal, the words of a model while it speaks: the last lines of its reply, drawn again in place below all other lines.
 * LIVE-1 They are a view, never data: they are wiped when the reply is recorded, and the result is printed whole at the end.
 * LIVE-2 Without a terminal nothing of them is written, so that a pipe holds only finished lines.
 * LIVE-3 A flood of text costs no more than the few lines that fit.
 */
import type { RawEvent } from '../../core/event/event.ts'
import { stringOr } from '../view/lines/message-line.ts'
import { DrawnLines } from './drawn-lines.ts'
import { escapeText } from './escape.ts'
import { canDraw, write } from './output.ts'
import { breakText } from './text-width.ts'

const drawEveryMs = 40
const linesMax = 8
/** More than the lines of a wide terminal hold. */
const charsKept = 4_000

export class LiveText implements Disposable {
  readonly #stream: NodeJS.WriteStream
  readonly #lines: DrawnLines
  #workerId: string | undefined
  #text = ''
  #iteration: unknown
  /** The last iteration of this run whose reply is recorded. Text of it that arrives later is ignored. */
  #replied = 0
  #timer: NodeJS.Timeout | undefined

  constructor(stream: NodeJS.WriteStream = process.stderr) {
    this.#stream = stream
    this.#lines = new DrawnLines(stream)
  }

  /** Selects the worker whose model is shown. */
  watch(workerId: string): void {
    this.#workerId = workerId
  }

  /** Whether there is a terminal that can show the text. */
  get isShown(): boolean {
    return canDraw(this.#stream)
  }

  note({ type, workerId, details }: RawEvent): void {
    if (workerId !== this.#workerId || !this.isShown) return
    switch (type) {
      case 'text.delta':
        this.#say(details.iteration, stringOr(details.text))
        return
      case 'model.replied':
        this.#replied = Number(details.iteration ?? 0)
        // The model may already speak again before its previous reply is recorded.
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

  /** Writes a line above what is drawn. */
  tell(line: string): void {
    this.#lines.wipe()
    write(this.#stream, `${line}\n`)
    if (this.#text !== '') this.#draw()
  }

  /** Wipes what is drawn. Safe to call twice. */
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
    const rows = Math.max(1, Math.min(linesMax, (this.#stream.rows ?? linesMax * 2) - 2))
    // Earlier lines cannot be on the screen, and to measure thousands of them would take longer than the time between two drawings.
    const last = this.#text.trimEnd().split('\n').slice(-rows).join('\n')
    const text = escapeText(last).replaceAll('\t', '  ')
    this.#lines.draw(breakText(text, this.#lines.columns).slice(-rows))
  }
}
