/** A terminal of a test: it knows line breaks, the moves and wipes of the cursor that troupe uses, and the marks of a frame. */
import { Writable } from 'node:stream'

const parts = /\u001b\[(\?2026[hl]|\d*[ABCJK])|\r?\n|\r|[^\u001b\r\n]+/g
const styles = /\u001b\[[\d;]*m/g

export class Screen extends Writable {
  isTTY = true
  columns: number
  rows: number
  readonly writes: string[] = []
  #lines: string[] = ['']
  #row = 0
  #column = 0

  constructor(columns = 21, rows = 24) {
    super({ decodeStrings: false })
    this.columns = columns
    this.rows = rows
  }

  /** The lines of the screen, down to the last one that is not empty. */
  get lines(): string[] {
    const last = this.#lines.findLastIndex((line) => line !== '')
    return this.#lines.slice(0, last + 1)
  }

  get written(): string {
    return this.writes.join('')
  }

  get stream(): NodeJS.WriteStream {
    return this as unknown as NodeJS.WriteStream
  }

  override _write(text: string, _encoding: string, done: () => void): void {
    this.writes.push(text)
    for (const [part, command] of text.replace(styles, '').matchAll(parts)) this.#apply(part, command)
    done()
  }

  #apply(part: string, command: string | undefined): void {
    if (command?.startsWith('?')) return
    const count = Number(command?.slice(0, -1) || 1)
    if (command?.endsWith('A')) this.#row = Math.max(0, this.#row - count)
    else if (command?.endsWith('B')) this.#row += count
    else if (command?.endsWith('C')) this.#column += count
    else if (command?.endsWith('K')) this.#lines[this.#row] = this.#line.slice(0, this.#column)
    else if (command?.endsWith('J')) {
      this.#lines[this.#row] = this.#line.slice(0, this.#column)
      this.#lines.length = this.#row + 1
    } else if (part.endsWith('\n')) {
      this.#row++
      this.#column = 0
      this.#lines[this.#row] ??= ''
    } else if (part === '\r') this.#column = 0
    else {
      this.#lines[this.#row] = this.#line.slice(0, this.#column) + part + this.#line.slice(this.#column + part.length)
      this.#column += part.length
    }
  }

  get #line(): string {
    return (this.#lines[this.#row] ?? '').padEnd(this.#column)
  }
}
