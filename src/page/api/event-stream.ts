/**
 * Duty: read a stream of server-sent events over fetch, which can send a token as a header, as EventSource cannot.
 * PAGE-STREAM-1 After a break it goes on behind the last position that it got: of an event, or of the stream itself.
 */
import type { RawEvent } from '../../core/event/event.ts'
import { ApiError, isFinal, type Query, send, silentText } from './http.ts'
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
      for await (const { events, position } of piecesOf(response)) {
        lastId = position ?? lastId
        if (events.length === 0) continue
        retryMs = retryMsLeast
        onEvents(events)
        // A failed session may be retried: it is looked at again, and goes on behind its failure.
        if (events.some(({ ended }) => ended !== undefined && ended.status !== 'failed')) return
      }
    } catch (error) {
      if (signal.aborted) return
      if (isFinal(error)) throw error
      noteSilence(path, error instanceof ApiError ? error.message : silentText)
    }
    await pause(retryMs, signal)
    retryMs = Math.min(retryMsMost, retryMs * 2)
  }
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

interface Piece {
  readonly events: readonly RawEvent[]
  /** The last position in it. */
  readonly position: string | undefined
}

async function* piecesOf(response: Response): AsyncGenerator<Piece> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  if (reader === undefined) return
  let rest = ''
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return
    const blocks = (rest + value).split(/\r?\n\r?\n/)
    rest = blocks.pop() ?? ''
    yield { events: blocks.flatMap(eventIn), position: blocks.flatMap((block) => fieldIn(block, 'id')).at(-1) }
  }
}

function fieldIn(block: string, name: string): string[] {
  return block
    .split(/\r?\n/)
    .filter((line) => line.startsWith(`${name}:`))
    .map((line) => line.slice(name.length + 1).trimStart())
}

/** The event in a block; none for a comment, which only says that the connection lives, and for a block that cannot be read. */
function eventIn(block: string): RawEvent[] {
  const data = fieldIn(block, 'data').join('\n')
  if (data === '') return []
  try {
    const event = JSON.parse(data) as RawEvent
    return typeof event.type === 'string' ? [event] : []
  } catch {
    return []
  }
}
