/**
 * Duty: what the model of one worker has said of its present reply.
 * STREAMED-1 Text that arrives after its reply was recorded, or of an earlier iteration, is ignored.
 * STREAMED-2 Only the end of a long text is kept.
 * STREAMED-3 A piece that says where it begins is shown once, also if it comes twice. One that begins at 0 is a text that begins anew.
 */
import type { RawEvent } from '../../../core/event/event.ts'
import { stringOr } from '../lines/message-line.ts'

/** More than the lines of a wide terminal hold. */
const charsKept = 4_000

export class StreamedText {
  #text = ''
  /** How many characters of the reply have arrived. */
  #length = 0
  #iteration: unknown
  /** The last iteration of this run whose reply is recorded. */
  #replied = 0

  get text(): string {
    return this.#text
  }

  note({ type, details }: RawEvent): void {
    switch (type) {
      case 'text.delta':
        this.#say(details.iteration, stringOr(details.text), details.offset)
        return
      case 'model.replied':
        this.#replied = Number(details.iteration ?? 0)
        // The model may already speak again before its previous reply is recorded.
        if (!(Number(this.#iteration) > this.#replied)) this.#text = ''
        return
      case 'model.blanked':
      case 'turn.retried':
        this.#text = ''
        return
      case 'run.completed':
      case 'worker.failed':
      case 'worker.cancelled':
        this.#replied = 0
        this.#text = ''
        return
      default:
    }
  }

  #say(iteration: unknown, text: string, offset: unknown): void {
    if (Number(iteration ?? Number.POSITIVE_INFINITY) <= this.#replied) return
    if (iteration !== this.#iteration || offset === 0) {
      this.#text = ''
      this.#length = 0
    }
    this.#iteration = iteration
    const known = typeof offset === 'number' ? Math.max(0, this.#length - offset) : 0
    const added = text.slice(known)
    this.#length =
      typeof offset === 'number' ? Math.max(this.#length, offset + text.length) : this.#length + text.length
    this.#text = (this.#text + added).slice(-charsKept)
  }
}
