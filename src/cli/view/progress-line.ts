/**
 * Duty: how far a command is that may take minutes: on a terminal a line that is drawn again in place, and wiped at the end; elsewhere
 * nothing, so that what is piped holds the answer alone.
 */
import { DrawnLines } from '../terminal/drawn-lines.ts'
import { canDraw } from '../terminal/output.ts'
import { fitText } from '../terminal/text-width.ts'

const drawEveryMs = 100

export class ProgressLine implements Disposable {
  readonly #stream: NodeJS.WriteStream
  readonly #lines: DrawnLines
  #text = ''
  #timer: NodeJS.Timeout | undefined

  constructor(stream: NodeJS.WriteStream = process.stderr) {
    this.#stream = stream
    this.#lines = new DrawnLines(stream)
  }

  update(text: string): void {
    this.#text = text
    if (canDraw(this.#stream)) this.#timer ??= setTimeout(() => this.#draw(), drawEveryMs)
  }

  /** Shows nothing more. Safe to call twice. */
  [Symbol.dispose](): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#lines.wipe()
  }

  #draw(): void {
    this.#timer = undefined
    this.#lines.draw([fitText(this.#text, this.#lines.columns)])
  }
}
