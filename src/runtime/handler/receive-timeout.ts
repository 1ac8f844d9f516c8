/**
 * Duty: the time one receive may take: a signal that fires with the turn's or after that time, and a promise that rejects with it.
 * Classes and no literals with accessors: V8 makes a hidden class for each of those, which keeps what its accessor closes over.
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

/** The signal is the turn's, made only for who asks. */
class Unlimited implements ReceiveTimeout {
  readonly #turn: Turn
  readonly reason = undefined

  constructor(turn: Turn) {
    this.#turn = turn
  }

  get signal(): AbortSignal {
    return this.#turn.signal
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
    // Also after the receive: what it left running hears of the turn's end.
    turn.whenAborted((reason) => this.#controller.abort(reason))
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
