/**
 * Duty: the progress of a command that may take minutes. On a terminal it is one line that is drawn again in place, and wiped at the end.
 * Elsewhere nothing is written, so that a pipe holds the answer alone.
 */

import { fitText } from '../../words/text/text-width.ts'
import { DrawnLines } from './drawn-lines.ts'
import { canDraw } from './output.ts'

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

  /** Wipes the line. Safe to call twice. */
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
