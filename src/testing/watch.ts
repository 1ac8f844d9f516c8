/**
 * Duty: goes round the calls of a node: writes each down, and kills the node at the one moment it was told.
 * W1 The kill is SIGKILL, from inside and at once: nothing of the node runs after it.
 */
import type { CrashPoint, Side } from './crash-point.ts'
import type { JournalWriter, UserCode } from './journal.ts'

export class Watch {
  readonly #journal: JournalWriter
  readonly #crashAt: CrashPoint | null
  #left: number

  constructor(journal: JournalWriter, crashAt: CrashPoint | null) {
    this.#journal = journal
    this.#crashAt = crashAt
    this.#left = crashAt?.nth ?? 0
  }

  /** Runs a call, and passes the moments before and after it. A call that throws has ended too. */
  async around<Value>(call: string, run: UserCode | undefined, body: () => Value | Promise<Value>): Promise<Value> {
    this.#pass('before', call, run)
    try {
      return await body()
    } finally {
      this.#pass('after', call, run)
    }
  }

  #pass(side: Side, call: string, run: UserCode | undefined): void {
    this.#journal.write({ side, call, pid: process.pid, run })
    if (this.#crashAt?.side !== side || this.#crashAt.call !== call) return
    this.#left--
    if (this.#left === 0) process.kill(process.pid, 'SIGKILL')
  }
}
