/**
 * Duty: keep what the model of one worker has said of its present reply.
 * STREAMED-1 Text that arrives after its reply was recorded, or that belongs to an earlier iteration, is ignored.
 * STREAMED-2 Only the end of a long text is kept.
 * STREAMED-3 A piece that begins at 0 is a text that begins anew. That no piece comes twice is the client's duty (LIVE-FILTER-1).
 */
import type { RawEvent } from '../../../core/event/event.ts'
import { stringOr } from '../../../words/lines/message-line.ts'

/** How many characters are kept: more than the lines of a wide terminal hold. */
const charsKept = 4_000

export class StreamedText {
  #text = ''
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
    const isNew = iteration !== this.#iteration || offset === 0
    this.#iteration = iteration
    this.#text = ((isNew ? '' : this.#text) + text).slice(-charsKept)
  }
}
