/**
 * Duty: read a stream of server-sent events over fetch, which can send a token as a header, as EventSource cannot.
 * PAGE-STREAM-1 After a break it goes on behind the last event that it got.
 */
import type { RawEvent } from '../../core/event/event.ts'
import { ApiError, type Query, send } from './http.ts'
import { noteSilence } from './liveness.ts'

const retryMsLeast = 500
const retryMsMost = 5_000

export interface StreamOptions {
  readonly query?: Query
  readonly signal: AbortSignal
  readonly onEvents: (events: readonly RawEvent[]) => void
}

/** Follows until the signal fires or the server ends the stream for good. Events that arrive together are passed on together. */
export async function follow(path: string, { query, signal, onEvents }: StreamOptions): Promise<void> {
  let lastId: string | undefined
  for (let retryMs = retryMsLeast; !signal.aborted; ) {
    try {
      const response = await send('GET', path, { query: { ...query, ...(lastId && { after: lastId }) }, signal })
      for await (const events of eventsIn(response)) {
        retryMs = retryMsLeast
        lastId = events.findLast(({ transient }) => transient !== true)?.id ?? lastId
        onEvents(events)
        // A failed session may be retried: it is looked at again, and goes on behind its failure.
        if (events.some(({ ended }) => ended !== undefined && ended.status !== 'failed')) return
      }
    } catch (error) {
      if (signal.aborted) return
      if (error instanceof ApiError && isFinal(error)) throw error
      noteSilence()
    }
    await pause(retryMs, signal)
    retryMs = Math.min(retryMsMost, retryMs * 2)
  }
}

/** True if the session is gone, or the reader may not see it. A token that somebody gives may still help. */
function isFinal({ status }: ApiError): boolean {
  return status >= 400 && status < 500 && status !== 401 && status !== 429
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal.addEventListener('abort', end)
  })
}

async function* eventsIn(response: Response): AsyncGenerator<RawEvent[]> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  if (reader === undefined) return
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const blocks = (rest + value).split(/\r?\n\r?\n/)
    rest = blocks.pop() ?? ''
    const events = blocks.flatMap(eventIn)
    if (events.length > 0) yield events
  }
}

/** The event in a block; none for a comment, which only says that the connection lives, and for a block that cannot be read. */
function eventIn(block: string): RawEvent[] {
  const data = block
    .split(/\r?\n/)
    .filter((line) => line.startsWith('data:'))
    .map((line) => line.slice(5).trimStart())
    .join('\n')
  if (data === '') return []
  try {
    const event = JSON.parse(data) as RawEvent
    return typeof event.type === 'string' ? [event] : []
  } catch {
    return []
  }
}
