/**
 * Duty: how far an audit is, which may take minutes: on a terminal a line that is drawn again in place, and wiped at the end; elsewhere
 * nothing, so that what is piped holds the answer alone.
 */
import type { AuditProgress as Looked } from '../client/audit/audit.ts'
import { count } from './findings.ts'
import { canDraw, columnsOf, write } from './output.ts'
import { fitText } from './text-width.ts'

const drawEveryMs = 100

export class AuditProgress implements Disposable {
  readonly #stream: NodeJS.WriteStream
  #looked: Looked = { sessions: 0, workers: 0 }
  #timer: NodeJS.Timeout | undefined
  #isDrawn = false

  constructor(stream: NodeJS.WriteStream = process.stderr) {
    this.#stream = stream
  }

  update(looked: Looked): void {
    this.#looked = looked
    if (canDraw(this.#stream)) this.#timer ??= setTimeout(() => this.#draw(), drawEveryMs)
  }

  /** Shows nothing more. Safe to call twice. */
  end(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#wipe()
  }

  [Symbol.dispose](): void {
    this.end()
  }

  #draw(): void {
    this.#timer = undefined
    const { sessions, workers } = this.#looked
    const line = `${count(sessions, 'session')} with ${count(workers, 'worker')} looked at`
    this.#wipe()
    write(this.#stream, `${fitText(line, columnsOf(this.#stream) - 1)}\n`)
    this.#isDrawn = true
  }

  #wipe(): void {
    if (this.#isDrawn) write(this.#stream, '\u001b[1A\u001b[J')
    this.#isDrawn = false
  }
}
