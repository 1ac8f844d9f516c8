/**
 * Duty: how far an audit is, which may take minutes: on a terminal a line that is drawn again in place, and wiped at the end; elsewhere
 * nothing, so that what is piped holds the answer alone.
 */
import type { AuditProgress as Looked } from '../client/audit/audit.ts'
import { DrawnLines } from './drawn-lines.ts'
import { count } from './findings.ts'
import { canDraw } from './output.ts'
import { fitText } from './text-width.ts'

const drawEveryMs = 100

export class AuditProgress implements Disposable {
  readonly #stream: NodeJS.WriteStream
  readonly #lines: DrawnLines
  #looked: Looked = { sessions: 0, workers: 0 }
  #timer: NodeJS.Timeout | undefined

  constructor(stream: NodeJS.WriteStream = process.stderr) {
    this.#stream = stream
    this.#lines = new DrawnLines(stream)
  }

  update(looked: Looked): void {
    this.#looked = looked
    if (canDraw(this.#stream)) this.#timer ??= setTimeout(() => this.#draw(), drawEveryMs)
  }

  /** Shows nothing more. Safe to call twice. */
  end(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#lines.wipe()
  }

  [Symbol.dispose](): void {
    this.end()
  }

  #draw(): void {
    this.#timer = undefined
    const { sessions, workers } = this.#looked
    const line = `${count(sessions, 'session')} with ${count(workers, 'worker')} looked at`
    this.#lines.draw([fitText(line, this.#lines.columns)])
  }
}
