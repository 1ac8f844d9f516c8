/**
 * Duty: limit the time of one receive: a signal that fires when the turn or a message stops it or when the time is over, and a promise that then rejects.
 * These are classes, not object literals with accessors, because V8 makes a hidden class for each such literal, which keeps alive whatever
 * its accessor closes over.
 */
import type { HandlerDefinition } from '../../core/definition/define-worker.ts'
import { TimeoutError } from '../../core/errors.ts'
import type { Turn } from '../turn/turn.ts'

export interface ReceiveTimeout {
  readonly signal: AbortSignal
  readonly expired?: Promise<never>
  readonly reason: Error | undefined
  clear(): void
}

export function timeoutOf(definition: HandlerDefinition, turn: Turn): ReceiveTimeout {
  const { timeoutMs } = definition
  return timeoutMs === undefined ? new Unlimited(turn) : new Limited(turn, timeoutMs)
}

/** No time limit: the signal is that of what the turn does now, created only if it is read. */
class Unlimited implements ReceiveTimeout {
  readonly #turn: Turn
  readonly #interruptions: number
  readonly reason = undefined

  constructor(turn: Turn) {
    this.#turn = turn
    this.#interruptions = turn.steers.interruptions
  }

  get signal(): AbortSignal {
    return this.#turn.steers.workSince(this.#interruptions).signal
  }

  clear(): void {}
}

class Limited implements ReceiveTimeout {
  readonly expired: Promise<never>
  reason: Error | undefined
  readonly #controller = new AbortController()
  readonly #timer: NodeJS.Timeout

  constructor(turn: Turn, ms: number) {
    const { promise, reject } = Promise.withResolvers<never>()
    promise.catch(() => {})
    this.expired = promise
    // Stays registered after receive has returned: work that receive left running must learn of the turn's end.
    turn.steers.work.whenAborted((reason) => this.#controller.abort(reason))
    this.#timer = setTimeout(() => {
      this.reason = new TimeoutError(`receive took longer than ${ms} ms.`)
      this.#controller.abort(this.reason)
      reject(this.reason)
    }, ms)
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  clear(): void {
    clearTimeout(this.#timer)
  }
}
