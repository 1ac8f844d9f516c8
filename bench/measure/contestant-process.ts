/**
 * Duty: a contestant in a process of its own, as it would be in production: one process for all would compile the code that they share (the
 * client of Redis above all) for all of them at once, and each would pay for the others.
 * Owns: the process; it ends with this one, when it is told to, or when it does not answer in time.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import type { Place } from '../contestant.ts'
import type { Load, Window } from './steady-window.ts'

export interface Ask {
  readonly place: Place
  readonly load: Load
}

export type Told = { readonly window: Window } | { readonly failure: string }

export class ContestantProcess {
  readonly #child: ChildProcess

  constructor(contestantId: string) {
    this.#child = fork(new URL('../contestant-main.ts', import.meta.url), [contestantId])
  }

  get pid(): number | undefined {
    return this.#child.pid
  }

  /** Opens the contestant, measures one window and closes it. Rejects with what went wrong there, or when that is not over in time. */
  async measure(ask: Ask, msMax: number): Promise<Window> {
    const ended = new AbortController()
    const gone = once(this.#child, 'exit', { signal: ended.signal }).then(([code, signal]) => {
      throw new Error(`its process ended with ${code ?? signal}`)
    })
    const heard = once(this.#child, 'message', { signal: ended.signal })
    const late = delay(msMax, undefined, { signal: ended.signal }).then(() => {
      this.#child.kill('SIGKILL')
      throw new Error(`its process did not answer within ${msMax / 1_000} s, and was killed`)
    })
    try {
      this.#child.send(ask)
      const [told] = (await Promise.race([heard, gone, late])) as [Told]
      if ('failure' in told) throw new Error(told.failure)
      return told.window
    } finally {
      ended.abort()
      gone.catch(() => {})
      heard.catch(() => {})
      late.catch(() => {})
    }
  }

  /** At once: it holds nothing but connections to a Redis that is thrown away. */
  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const exited = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await exited
  }
}
