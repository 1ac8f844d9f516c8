/**
 * Duty: runs a contestant in a process of its own, as in production. If all contestants shared one process, V8 would compile
 * their shared code (above all the Redis client) for all of them at once, and each would be slower because of the others.
 * Owns: the process. It ends when this process ends, when it is stopped, or when it does not answer in time.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { Place } from '../contestant.ts'
import type { Load, Window } from './steady-window.ts'

/** The time to start a process, and to open, empty and close its contestant, on the slowest machine. */
export const aroundMsMax = 60_000

export interface Ask {
  readonly place: Place
  readonly load: Load
}

export type Answer = { readonly window: Window } | { readonly failure: string }

export class ContestantProcess {
  readonly #child: ChildProcess

  constructor(contestantId: string) {
    this.#child = fork(new URL('../contestant-main.ts', import.meta.url), [contestantId])
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** Opens the contestant, measures one window and closes it. Rejects if that fails or takes longer than `msMax`. */
  async measure(ask: Ask, msMax: number): Promise<Window> {
    const ended = new AbortController()
    const gone = once(this.#child, 'exit', { signal: ended.signal }).then(([code, signal]) => {
      throw new Error(`its process ended with ${code ?? signal}`)
    })
    const answered = once(this.#child, 'message', { signal: ended.signal })
    const late = delay(msMax, undefined, { signal: ended.signal }).then(() => {
      this.#child.kill('SIGKILL')
      throw new Error(`its process did not answer within ${msMax / 1_000} s, and was killed`)
    })
    try {
      this.#child.send(ask)
      const [answer] = (await Promise.race([answered, gone, late])) as [Answer]
      if ('failure' in answer) throw new Error(answer.failure)
      return answer.window
    } finally {
      ended.abort()
      gone.catch(() => {})
      answered.catch(() => {})
      late.catch(() => {})
    }
  }

  /** Kills it at once: it holds only connections to a Redis that is thrown away. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exited
  }
}
