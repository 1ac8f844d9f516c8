/**
 * Duty: the text of one model call while it streams: keep it, and publish it in pieces to those who follow the session.
 * STREAMED-REPLY-1 It is kept until the call ends, whether or not anybody follows, so that a follower who comes late gets it from its beginning.
 *                  Only the end of a very long text is kept.
 * STREAMED-REPLY-2 A piece is published at most every `deltaEveryMs`, because one message for each word would be too many.
 */
import type { ModelDelta } from '../../../core/definition/model.ts'
import type { LiveNote } from '../../../core/ports/live.ts'
import type { Turn } from '../../turn/turn.ts'

/** The most characters of text, and of reasoning, that are kept for each call. */
const keptMax = 65_536
/** The text is cut only when it is this much longer, because to cut it for each piece would take long. */
const overMax = 16_384

class StreamedText {
  readonly #type: 'text.delta' | 'reasoning.delta'
  #kept = ''
  /** The offset at which the kept text begins, and that up to which it was published. */
  #from = 0
  #published = 0

  constructor(type: 'text.delta' | 'reasoning.delta') {
    this.#type = type
  }

  add(text: string): void {
    this.#kept += text
    if (this.#kept.length <= keptMax + overMax) return
    let cut = this.#kept.length - keptMax
    // The cut must not come between the two halves of a character.
    if (/[\uDC00-\uDFFF]/.test(this.#kept.charAt(cut))) cut++
    this.#kept = this.#kept.slice(cut)
    this.#from += cut
  }

  /** Takes the text that was not published yet. */
  take(): { readonly type: 'text.delta' | 'reasoning.delta'; readonly text: string; readonly offset: number } | null {
    return this.#since(Math.max(this.#published, this.#from))
  }

  /** The text that is kept. */
  whole() {
    return this.#since(this.#from)
  }

  #since(offset: number) {
    const text = this.#kept.slice(offset - this.#from)
    this.#published = this.#from + this.#kept.length
    return text === '' ? null : { type: this.#type, text, offset }
  }
}

export class StreamedReply {
  readonly #turn: Turn
  readonly #iteration: number
  readonly #request: string
  /** Reasoning comes before the text that follows from it. */
  readonly #reasoning = new StreamedText('reasoning.delta')
  readonly #text = new StreamedText('text.delta')
  #timer: NodeJS.Timeout | undefined
  #hasPublished = false
  #closed = false

  constructor(turn: Turn, iteration: number) {
    this.#turn = turn
    this.#iteration = iteration
    this.#request = turn.live.beginRequest(this)
  }

  add({ type, text }: ModelDelta): void {
    if (this.#closed || text === '') return
    if (type === 'text') this.#text.add(text)
    else this.#reasoning.add(text)
    if (this.#turn.live.isFollowed)
      this.#timer ??= setTimeout(() => this.#publish(), this.#turn.host.policy.deltaEveryMs)
  }

  /** All that was said so far, for a follower that came late. */
  repeated(): LiveNote[] {
    return this.#notes([this.#reasoning.whole(), this.#text.whole()])
  }

  /** Publishes the rest of a reply, if a part of it was published. A reply that came at once is not published here at all. */
  close(): void {
    this.#closed = true
    clearTimeout(this.#timer)
    if (this.#hasPublished) this.#publish()
    this.#turn.live.endRequest()
  }

  #publish(): void {
    this.#timer = undefined
    this.#hasPublished = true
    this.#turn.live.tell(this.#notes([this.#reasoning.take(), this.#text.take()]))
  }

  #notes(pieces: readonly ReturnType<StreamedText['take']>[]): LiveNote[] {
    return pieces.flatMap((piece): LiveNote[] => {
      if (piece === null) return []
      const { type, text, offset } = piece
      return [[type, { text, iteration: this.#iteration, offset, request: this.#request }]]
    })
  }
}
