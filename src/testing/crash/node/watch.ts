/**
 * Duty: wrap the calls of a node: record each call, and kill the node at one chosen moment.
 * WATCH-1 The node kills itself with SIGKILL, at once. No code of the node runs after it.
 */
import type { CrashPoint, Side } from '../crash-point.ts'
import type { JournalWriter, UserCode } from '../journal.ts'

export class Watch {
  readonly #journal: JournalWriter
  readonly #crashAt: CrashPoint | null
  #left: number

  constructor(journal: JournalWriter, crashAt: CrashPoint | null) {
    this.#journal = journal
    this.#crashAt = crashAt
    this.#left = crashAt?.nth ?? 0
  }

  /** Runs a call and passes the points before and after it, also if the call throws. */
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
