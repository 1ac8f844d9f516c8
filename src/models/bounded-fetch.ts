/**
 * Duty: a fetch whose answers cannot fill the memory before anybody has looked at them. What reads an event stream keeps one event
 * until it is whole, and what reads anything else keeps all of it; so events, and answers that are no event stream, have a limit.
 * An answer that is plainly something else than events fails with its own words: what reads events passes over all of it.
 * It follows no redirect: that would take the conversation, and keys in headers that are no `Authorization`, to a place nobody named.
 */
import { TransientError } from '../core/errors.ts'

export function boundedFetch(bytesMax: number, id: string): typeof fetch {
  return async (input, init) => {
    const response = await fetch(input, { ...init, redirect: 'manual' })
    if (response.body === null) return response
    const type = response.headers.get('content-type') ?? 'an answer of no type'
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

/** Blank lines end an event. */
const eventEnds = ['\n\n', '\r\n\r\n', '\r\r']

function limit(bytesMax: number, isEvents: boolean, id: string): TransformStream<Uint8Array, Uint8Array> {
  let open = 0
  return new TransformStream({
    transform(chunk, controller) {
      const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
      const end = isEvents ? Math.max(...eventEnds.map((mark) => bytes.lastIndexOf(mark))) : -1
      open = end < 0 ? open + bytes.length : bytes.length - end
      if (open > bytesMax) {
        throw new TransientError(`${id} sent more than ${bytesMax} bytes in one piece; it was cut off.`, {
          code: 'model_garbled',
        })
      }
      controller.enqueue(chunk)
    },
  })
}

/** Providers, and what stands before them, answer pages and JSON with 200, too. */
export const noEventsName = 'NoEventsError'
const quotedBytes = 2_000

/** By what it holds, since some send events under another type: no line of an event stream begins like a page or like JSON. */
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
      throw Object.assign(new Error(`no events but ${type}: ${text}`), { name: noEventsName })
    },
  })
}
