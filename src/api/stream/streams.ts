/**
 * Duty: know which streams are open, and whose.
 * OPEN-STREAMS-1 A caller has a bounded number of streams. A caller whose access token is taken back loses its streams within a second.
 */
import type { ServerResponse } from 'node:http'
import type { Caller } from '../guard/rights.ts'
import { ApiError } from '../problem.ts'

const streamsMost = 500

interface Open {
  readonly caller: Caller
  readonly out: ServerResponse
}

export class Streams {
  readonly #open = new Set<Open>()

  /** Throws an ApiError if the caller has too many. Disposing of the result says that the stream is over. */
  open(caller: Caller, out: ServerResponse): Disposable {
    let own = 0
    for (const other of this.#open) if (other.caller.name === caller.name) own++
    if (own >= streamsMost)
      throw new ApiError(429, 'too_many_requests', `this caller has ${own} streams open: close some of them first.`)
    const one = { caller, out }
    this.#open.add(one)
    return { [Symbol.dispose]: () => void this.#open.delete(one) }
  }

  /** Ends the streams of callers that are not known any more. */
  keep(isKnown: (caller: Caller) => boolean): void {
    for (const { caller, out } of this.#open) if (!isKnown(caller)) out.destroy()
  }
}
