/**
 * Duty: pass on the events of a reply that its protocol knows, and end the stream with the reply.
 * Does not own: what an event means for a protocol (reply-protocol.ts), sizes (bounded-fetch.ts).
 * EVENT-STREAM-1 The stream ends at the event that ends the reply, even if the provider leaves the connection open.
 * EVENT-STREAM-2 An event that cannot be used is skipped and reported. A stream of which nothing can be used is an error that quotes it.
 * EVENT-STREAM-3 If an unreadable event may have held a part of a call's arguments, the reply is an error: the rest could be read as other
 *                arguments.
 */
import { TransientError } from '../../core/errors.ts'
import type { Usage } from '../../core/history/chat/chat-message.ts'
import { noEventsName } from './bounded-fetch.ts'
import type { ReplyProtocol, ReplyReader } from './reply-protocol.ts'

export interface EventFilterParts {
  /** `provider/model`. */
  readonly id: string
  readonly protocol: ReplyProtocol
  /** How long the stream stays open after the finish of a reply whose protocol sends one more event. */
  readonly graceMs: number
  /** Called with what an event says that the call has used so far. */
  readonly onUsage: (usage: Usage) => void
  /** Called with a sentence about an event that was skipped. */
  readonly onSkipped: (what: string) => void
}

type Controller = TransformStreamDefaultController<Uint8Array>

export function eventFilter(parts: EventFilterParts): TransformStream<Uint8Array, Uint8Array> {
  const filter = new EventFilter(parts)
  return new TransformStream({
    transform: (chunk, controller) => filter.add(chunk, controller),
    flush: (controller) => filter.end(controller),
  })
}

const quotedChars = 200
const reportsMax = 5
const lineEnd = /\r\n|\n|\r/

class EventFilter {
  readonly #parts: EventFilterParts
  readonly #reader: ReplyReader
  readonly #decoder = new TextDecoder()
  readonly #encoder = new TextEncoder()
  /** The line that has not ended yet. */
  #line = ''
  #endsWithReturn = false
  /** The lines of data of the event that has not ended yet. */
  #data: string[] = []
  #passed = 0
  #skipped = 0
  #firstSkipped = ''
  #isOver = false
  #grace: NodeJS.Timeout | undefined

  constructor(parts: EventFilterParts) {
    this.#parts = parts
    this.#reader = parts.protocol()
  }

  add(chunk: Uint8Array, controller: Controller): void {
    let text = this.#decoder.decode(chunk, { stream: true })
    if (text === '') return
    if (this.#endsWithReturn && text.startsWith('\n')) text = text.slice(1)
    this.#endsWithReturn = text === '' ? false : text.endsWith('\r')
    const lines = text.split(lineEnd)
    const rest = lines.pop() ?? ''
    for (const line of lines) {
      if (this.#isOver) return
      this.#takeLine(this.#line + line, controller)
      this.#line = ''
    }
    this.#line += rest
  }

  /** The last event may lack the blank line behind it. Half an event belongs to a reply that broke off, so nothing is said about it. */
  end(controller: Controller): void {
    clearTimeout(this.#grace)
    if (this.#isOver) return
    if (this.#line !== '') this.#takeLine(this.#line, controller)
    const text = this.#data.join('\n')
    if (isWhole(text)) this.#takeEvent(text, controller)
    if (this.#passed > 0 || this.#skipped === 0) return
    const message = `expected events of a reply, but got: ${this.#firstSkipped}`
    throw Object.assign(new Error(message), { name: noEventsName })
  }

  #takeLine(line: string, controller: Controller): void {
    if (line !== '') {
      if (line.startsWith('data:')) this.#data.push(line.slice(line[5] === ' ' ? 6 : 5))
      return
    }
    const text = this.#data.join('\n')
    this.#data = []
    this.#takeEvent(text, controller)
  }

  #takeEvent(text: string, controller: Controller): void {
    if (text.trim() === '') return
    const verdict = this.#reader.take(text)
    if (verdict.kind === 'ignored') return
    if (verdict.kind === 'skipped') {
      this.#skip(text, verdict.why, verdict.mayBeArguments)
      return
    }
    this.#passed++
    if (verdict.usage) this.#parts.onUsage(verdict.usage)
    if (verdict.text !== '') controller.enqueue(this.#encoder.encode(`data: ${verdict.text}\n\n`))
    if (verdict.isEnd) this.#stop(controller)
    else if (verdict.isFinish) this.#grace ??= setTimeout(() => this.#stopLate(controller), this.#parts.graceMs).unref()
  }

  #skip(text: string, why: string, mayBeArguments: boolean): void {
    const quoted = text.slice(0, quotedChars)
    if (mayBeArguments) {
      throw new TransientError(`${this.#parts.id} sent a part of a tool call that cannot be read.`, {
        code: 'model_garbled',
      })
    }
    if (this.#skipped === 0) this.#firstSkipped = quoted
    this.#skipped++
    if (this.#skipped <= reportsMax) this.#parts.onSkipped(`${why}: ${quoted}`)
  }

  /** By then the reply may have been read, or given up. */
  #stopLate(controller: Controller): void {
    try {
      this.#stop(controller)
    } catch {
      // The stream is closed already.
    }
  }

  #stop(controller: Controller): void {
    clearTimeout(this.#grace)
    if (this.#isOver) return
    this.#isOver = true
    controller.terminate()
  }
}

function isWhole(text: string): boolean {
  if (text.trim() === '[DONE]') return true
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
