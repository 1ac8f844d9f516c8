/**
 * Duty: write server-sent events to one caller, whatever its speed.
 * SSE-1 How much waits to be sent is bounded: a caller with more than `lagBytesMax` lags, and whoever writes waits until it has read (`drained`).
 * SSE-2 Text is JSON on one line, so no value can end an event or begin another one.
 * SSE-3 A stream begins with its position, without an event: a caller whose connection breaks before the first event resumes there. One that
 * ends by itself ends with the position to which it has read: a caller that looks again, as a browser does, resumes there.
 * SSE-4 A quiet stream sends a comment from time to time, so that proxies keep it open and a dead caller is noticed.
 */
import type { ServerResponse } from 'node:http'

export interface StreamEvent {
  /** The position from which a caller resumes; undefined for an event that moves no position. */
  readonly id?: string | undefined
  readonly type: string
  readonly json: string
}

const lagBytesMax = 1_048_576
const heartbeatMs = 15_000
/** A caller that has read nothing for this long is gone. */
const stallMsMax = 60_000
/** How soon a browser connects again. */
const retryMs = 2_000

export class SseWriter implements Disposable {
  readonly #out: ServerResponse
  readonly #heart: NodeJS.Timeout
  readonly #stopping: AbortSignal
  #pending: string[] = []
  #pendingLength = 0
  #isFlushing = false
  #wroteAt = Date.now()

  /** `stopping`: fires when the server stops. A caller must not take that for the end of the session that it follows. */
  constructor(out: ServerResponse, headers: Readonly<Record<string, string>>, stopping: AbortSignal) {
    this.#out = out
    this.#stopping = stopping
    out.writeHead(200, { ...headers, 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' })
    this.#write(`retry: ${retryMs}\n\n`)
    this.#heart = setInterval(() => this.#beat(), heartbeatMs)
  }

  /** True while the caller reads slower than events come. */
  get lags(): boolean {
    return this.#out.writableLength + this.#pendingLength > lagBytesMax
  }

  /** SSE-3. */
  sendPosition(position: string): void {
    this.#write(`id: ${position}\n\n`)
  }

  send({ id, type, json }: StreamEvent): void {
    this.#write(`${id === undefined ? '' : `id: ${id}\n`}event: ${type}\ndata: ${json}\n\n`)
  }

  /** Resolves once the caller has read what waited. Rejects when it is gone, or reads nothing for long: then its connection is closed. */
  async drained(signal: AbortSignal): Promise<void> {
    this.#flush()
    signal.throwIfAborted()
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const stop = () => reject(signal.reason as Error)
    const timer = setTimeout(() => {
      this.#out.destroy()
      reject(new Error('the caller reads nothing'))
    }, stallMsMax)
    this.#out.once('drain', resolve)
    signal.addEventListener('abort', stop, { once: true })
    try {
      await promise
    } finally {
      clearTimeout(timer)
      this.#out.off('drain', resolve)
      signal.removeEventListener('abort', stop)
    }
  }

  [Symbol.dispose](): void {
    clearInterval(this.#heart)
    this.#flush()
    if (this.#stopping.aborted) this.#out.destroy()
    else this.#out.end()
  }

  #beat(): void {
    if (Date.now() - this.#wroteAt >= heartbeatMs - 100) this.#write(':\n\n')
  }

  // Texts that come in one pass of the event loop go out as one piece.
  #write(text: string): void {
    this.#pending.push(text)
    this.#pendingLength += text.length
    if (this.#isFlushing) return
    this.#isFlushing = true
    setImmediate(() => this.#flush())
  }

  #flush(): void {
    this.#isFlushing = false
    if (this.#pending.length === 0 || this.#out.destroyed) return
    const text = this.#pending.join('')
    this.#pending = []
    this.#pendingLength = 0
    this.#wroteAt = Date.now()
    this.#out.write(text)
  }
}
