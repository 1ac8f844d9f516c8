/**
 * Duty: follow a stream of the HTTP API over fetch, which can send a token, as EventSource cannot.
 * HTTP-FOLLOW-1 After a broken connection it resumes behind the last event, or where the stream began: each later stored event comes once.
 * HTTP-FOLLOW-2 A `limit` in the query bounds the events of all its connections together.
 */
import type { TroupeEvent } from '../core/event/event.ts'
import type { Entry } from '../core/history/entry.ts'
import { type HttpOptions, HttpProblem, problemIn } from './client.ts'

export interface FollowOptions extends HttpOptions {
  /** `/v1/sessions/<id>/events`, or `/v1/events`, with a query. */
  readonly path: string
  /** The `position` of the last event that was seen. Default: what the query says. */
  readonly after?: string | undefined
  /** Ends the stream when it is aborted. */
  readonly signal?: AbortSignal | undefined
}

/** A new entry of a history, for those who ask for them (`history=`). */
export interface StreamedEntry {
  readonly type: 'history.entry'
  readonly workerId: string
  readonly position: number
  readonly entry: Entry
}

/** `type` determines `data`. A newer server may send a type that this version does not know. */
type Streamed<Data extends { readonly type: string }> = Data extends unknown
  ? {
      readonly type: Data['type']
      /** The event as JSON says it: docs/reference/events.md. */
      readonly data: Data
      /** To resume behind this event. */
      readonly position: string | undefined
    }
  : never

export type StreamedEvent = Streamed<TroupeEvent> | Streamed<StreamedEntry>

const waitMs = [200, 500, 1_000, 2_000] as const
const limitIn = /(?<=[?&]limit=)\d+/

/**
 * Ends with the stream: after the event that ends a session, or when the signal fires. Throws an HttpProblem if the API refuses, and a TypeError if no
 * request can be made of the options.
 */
export function followEvents(options: FollowOptions): AsyncGenerator<StreamedEvent, void, undefined> {
  return followWith(options, pause)
}

/** The same, with another way to pause before it connects again. */
export async function* followWith(
  options: FollowOptions,
  pauseFor: typeof pause,
): AsyncGenerator<StreamedEvent, void, undefined> {
  const { signal } = options
  checkAddress(requestOf(options, options.after).url, options.url)
  let position = options.after
  let left = Number(limitIn.exec(options.path)?.[0] ?? Number.POSITIVE_INFINITY)
  const isOver = () => signal?.aborted === true
  for (let attempt = 0; !isOver(); attempt++) {
    try {
      const path = options.path.replace(limitIn, String(left))
      for await (const block of oneConnection({ ...options, path }, position)) {
        position = fieldIn(block, 'id') ?? position
        const event = eventIn(block)
        if (event === undefined) continue
        attempt = 0
        // The API does not count entries of histories.
        if (event.type !== 'history.entry') left--
        yield event
      }
      return
    } catch (error) {
      if (isOver()) return
      if (error instanceof HttpProblem && error.status < 500 && error.status !== 429) throw error
      if (left === 0) return
      await pauseFor(waitMs[Math.min(attempt, waitMs.length - 1)] as number, signal)
    }
  }
}

function requestOf({ url, path, token, signal }: FollowOptions, position: string | undefined): Request {
  const headers = new Headers({ accept: 'text/event-stream' })
  if (token !== undefined) headers.set('authorization', `Bearer ${token}`)
  if (position !== undefined) headers.set('last-event-id', position)
  return new Request(url.replace(/\/+$/, '') + path, { headers, signal: signal ?? null })
}

/** `localhost:7333` is an address too, but of a protocol named localhost: each attempt to connect would fail. */
function checkAddress(address: string, given: string): void {
  if (!/^https?:/.test(address))
    throw new TypeError(`url of followEvents must be an address of http or https, like http://${given}.`)
}

async function* oneConnection(options: FollowOptions, position: string | undefined): AsyncGenerator<string> {
  const { fetch: send = fetch, signal } = options
  const response = await send(requestOf(options, position))
  if (!response.ok) throw await problemIn(response)
  checkType(response)
  if (response.body === null) return
  let rest = ''
  // The signal of the request may be forgotten once the answer has begun.
  const texts = response.body.pipeThrough(new TextDecoderStream(), { ...(signal !== undefined && { signal }) })
  for await (const piece of texts) {
    const blocks = (rest + piece).split('\n\n')
    rest = blocks.pop() ?? ''
    yield* blocks
  }
}

/** The server answers any address outside of /v1 with its page, and a proxy may answer with one of its own: neither is a stream that has ended. */
function checkType({ status, headers }: Response): void {
  const type = headers.get('content-type')
  if (type !== null && !/^text\/event-stream\b/i.test(type))
    throw new HttpProblem(
      status,
      'unknown',
      `the answer is ${type} and no stream of events: check the url and the path, like /v1/events.`,
    )
}

function fieldIn(block: string, name: string): string | undefined {
  const line = block.split('\n').find((one) => one.startsWith(`${name}: `))
  return line?.slice(name.length + 2)
}

/** None for a comment, and for the position with which a stream begins. */
function eventIn(block: string): StreamedEvent | undefined {
  const data = fieldIn(block, 'data')
  if (data === undefined) return undefined
  const type = fieldIn(block, 'event') ?? 'message'
  return { type, data: JSON.parse(data), position: fieldIn(block, 'id') } as StreamedEvent
}

function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      resolve()
    }
    const timer = setTimeout(end, ms)
    signal?.addEventListener('abort', end)
  })
}
