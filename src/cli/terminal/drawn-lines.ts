/** Duty: a few lines on a terminal that are drawn again in place. Any other code that writes there wipes them first. */
import { columnsOf, write } from './output.ts'

export class DrawnLines {
  readonly #stream: NodeJS.WriteStream
  #count = 0

  constructor(stream: NodeJS.WriteStream) {
    this.#stream = stream
  }

  get areThere(): boolean {
    return this.#count > 0
  }

  /** The most columns of a line: a full line would be broken by some terminals, and count as two. */
  get columns(): number {
    return columnsOf(this.#stream) - 1
  }

  draw(lines: readonly string[]): void {
    this.wipe()
    write(this.#stream, lines.map((line) => `${line}\n`).join(''))
    this.#count = lines.length
  }

  wipe(): void {
    if (this.#count > 0) write(this.#stream, `\u001b[${this.#count}A\u001b[J`)
    this.#count = 0
  }
}
