/**
 * Duty: a fetch whose answers cannot fill the memory. A reader of an event stream keeps each event until it is whole, and a reader of any other
 * answer keeps all of it, so single events and other answers have a size limit.
 * FETCH-1 If an answer is clearly not an event stream, the error quotes it, because a reader of events would skip all of it silently.
 * FETCH-2 Redirects are not followed. They would send the conversation, and keys in headers other than `Authorization`, to an address that
 *         nobody configured.
 */
import { TransientError } from '../../core/errors.ts'

export function boundedFetch(bytesMax: number, id: string): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, { ...init, redirect: 'manual' })
    if (response.body === null) return response
    const type = response.headers.get('content-type') ?? 'an answer without a type'
    const isEvents = type.includes('text/event-stream')
    const limited = response.body.pipeThrough(limit(bytesMax, isEvents, id))
    const body = isEvents || !response.ok ? limited : limited.pipeThrough(onlyEvents(type))
    return new Response(body, {
      status: response.status,
      statusText: response.statusText,
      headers: response.headers,
    })
  }
}

/** The blank lines that end an event. */
const eventEnds = ['\n\n', '\r\n\r\n', '\r\r']
const longestEnd = 4

function limit(bytesMax: number, isEvents: boolean, id: string): TransformStream<Uint8Array, Uint8Array> {
  let open = 0
  /** What came last: a server that writes line by line sends the end of an event in two pieces. */
  let tail = Buffer.alloc(0)
  return new TransformStream({
    transform(chunk, controller) {
      open += chunk.length
      if (isEvents) {
        const bytes = Buffer.concat([tail, chunk])
        const end = Math.max(...eventEnds.map((mark) => bytes.lastIndexOf(mark)))
        if (end >= 0) open = bytes.length - end
        tail = bytes.subarray(1 - longestEnd)
      }
      if (open > bytesMax) {
        throw new TransientError(
          `${id} sent an event or an answer of more than ${bytesMax} bytes; the rest was not read.`,
          {
            code: 'model_garbled',
          },
        )
      }
      controller.enqueue(chunk)
    },
  })
}

/** The name of the error for an answer without events. Providers and proxies may send pages or JSON with status 200. */
export const noEventsName = 'NoEventsError'
const quotedBytes = 2_000

/** Judges an answer by its content and not by its type, because some providers send events under another type. No event stream begins like HTML or JSON. */
function onlyEvents(type: string): TransformStream<Uint8Array, Uint8Array> {
  let start = Buffer.alloc(0)
  return new TransformStream({
    transform(chunk, controller) {
      if (start.length < quotedBytes) start = Buffer.concat([start, chunk.subarray(0, quotedBytes)])
      controller.enqueue(chunk)
    },
    flush() {
      const text = start.toString()
      if (!/^\s*[<{[]/.test(text)) return
      throw Object.assign(new Error(`expected events, but got ${type}: ${text}`), { name: noEventsName })
    },
  })
}
