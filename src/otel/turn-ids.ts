/**
 * Duty: ids of spans for an SDK of OpenTelemetry. That of a turn follows from the turn, so that the next turn of its worker can name it, and that of a
 * spawn from the child, so that the turns of the child can, on whatever node they are: nothing is stored for it. All others are random.
 */
import { randomBytes } from 'node:crypto'

/** For `idGenerator` of an SDK, and for `openTelemetry({ ids })`. */
export class TurnIds {
  #next: string | null = null

  generateTraceId(): string {
    return randomBytes(16).toString('hex')
  }

  generateSpanId(): string {
    return this.#next ?? randomBytes(8).toString('hex')
  }

  /** The span that `start` starts has this id. */
  startWith<Started>(id: string, start: () => Started): Started {
    this.#next = id
    try {
      return start()
    } finally {
      this.#next = null
    }
  }
}
