/**
 * Duty: ids of spans for an SDK of OpenTelemetry. The id of a turn's span follows from the turn, so that the next turn of its worker can name it; the
 * id of a spawn's span follows from the child, so that the turns of the child can name it, on whatever node they are: nothing is stored for it. All
 * other ids are random.
 */
import { randomBytes } from 'node:crypto'

/** Pass it as `idGenerator` of an SDK, and to `openTelemetry({ ids })`. */
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
