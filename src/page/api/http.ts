/**
 * Duty: send requests to the API of the server that served this page. The only module of the page that calls fetch.
 * HTTP-1 Addresses are relative to the page, so that it works under any path. It asks nothing but the API: neither another host nor what stands beside it.
 * HTTP-2 The token lives in memory and in the storage of this tab alone; it is sent as a header, never in an address.
 */
import { noteAnswer, noteSilence } from './liveness.ts'
import { noteServerTime } from './server-time.ts'
import { answerFromFile, isInFile } from './session-file.ts'

/** What the server says of a request that it refused. */
export class ApiError extends Error {
  readonly status: number
  readonly code: string
  constructor(status: number, code: string, message: string) {
    super(message)
    this.status = status
    this.code = code
  }
}

/** True if what was asked for is gone, or the reader may not see it. A token that somebody gives may still help. */
export function isFinal(error: unknown): boolean {
  if (!(error instanceof ApiError)) return false
  return error.status >= 400 && error.status < 500 && error.status !== 401 && error.status !== 429
}

/** True if the session or the worker was pruned: its id never comes back. */
export function isPruned(error: unknown): boolean {
  return error instanceof ApiError && (error.code === 'session_not_found' || error.code === 'worker_not_found')
}

/**
 * Requests outlive their page only up to 64 KiB, all that are under way together; a browser refuses the next one as if the server were gone. What a
 * request has beside its body counts in some browsers.
 */
const keepaliveBytesMost = 50_000
const headBytes = 1_000
let keptBytes = 0
/** A server that takes longer than this to begin its answer is silent; the request goes on. */
const silentMs = 5_000
export const silentText = 'The server does not answer.'
const tokenMissing = 'This server needs a token: ask whoever runs it for one.'

const storedAs = 'troupe.token'
let token = sessionStorage.getItem(storedAs) ?? ''
let onTokenNeeded: (error: ApiError) => void = () => {}

export function setToken(text: string): void {
  token = text.trim()
  if (token === '') sessionStorage.removeItem(storedAs)
  else sessionStorage.setItem(storedAs, token)
}

/** Called when the server wants a token, or another one. */
export function whenTokenIsNeeded(call: (error: ApiError) => void): void {
  onTokenNeeded = call
}

type QueryValue = string | number | boolean | undefined
export type Query = Readonly<Record<string, QueryValue>>

export interface Request {
  readonly query?: Query
  readonly signal?: AbortSignal
}

export interface Change extends Request {
  readonly body?: unknown
  /**
   * True for a change that would happen twice if it came twice. If the reader makes it again because the server was silent, it has the same key, and so
   * happens once.
   */
  readonly isOnce?: boolean
}

interface Sent extends Omit<Change, 'isOnce'> {
  /** The same change under the same key happens once. */
  readonly key?: string
}

function addressOf(path: string, query: Query = {}): string {
  const root = new URL('v1/', document.baseURI)
  const url = new URL(path, root)
  // An id comes from the address of the page, which anybody may have written.
  if (!url.href.startsWith(root.href)) throw new ApiError(404, 'not_found', `${path} is no address of the API.`)
  for (const [name, value] of Object.entries(query)) if (value !== undefined) url.searchParams.set(name, String(value))
  return url.href
}

/** Sends a request, and gives the response of a server that accepted it. Throws an ApiError otherwise. */
export async function send(method: string, path: string, { query, signal, body, key }: Sent = {}): Promise<Response> {
  if (isInFile(path))
    throw new ApiError(409, 'not_in_file', 'This session is read from a file: nothing of it can be changed.')
  const headers = new Headers()
  if (token !== '') headers.set('authorization', `Bearer ${token}`)
  if (body !== undefined) headers.set('content-type', 'application/json')
  if (key !== undefined) headers.set('idempotency-key', key)
  const text = body === undefined ? null : JSON.stringify(body)
  const bytes = headBytes + new TextEncoder().encode(text ?? '').length
  // A change that was begun is sent even if the page is closed.
  const keepalive = method !== 'GET' && keptBytes + bytes <= keepaliveBytesMost
  const request = {
    method,
    headers,
    signal: signal ?? null,
    body: text,
    keepalive,
  }
  const address = addressOf(path, query)
  const timer = setTimeout(() => noteSilence(path, silentText), silentMs)
  if (keepalive) keptBytes += bytes
  const response = await fetch(address, request)
    .catch((error: unknown) => {
      if (signal?.aborted) throw error
      noteSilence(path, silentText)
      throw new ApiError(0, 'server_silent', silentText)
    })
    .finally(() => {
      clearTimeout(timer)
      if (keepalive) keptBytes -= bytes
    })
  noteServerTime(response)
  if (response.ok) {
    noteAnswer(path)
    return response
  }
  const lacksToken = response.status === 401 && token === ''
  const error = lacksToken ? new ApiError(401, 'token_missing', tokenMissing) : await errorOf(response)
  if (error.status >= 500) noteSilence(path, error.message)
  if (error.status === 401) onTokenNeeded(error)
  throw error
}

async function errorOf(response: Response): Promise<ApiError> {
  const problem: unknown = await response.json().catch(() => null)
  const { code, detail, title } = Object(problem) as Record<string, unknown>
  const said = [detail, title].find((text) => typeof text === 'string')
  return new ApiError(
    response.status,
    typeof code === 'string' ? code : 'unknown',
    typeof said === 'string' ? said : `The server answered ${response.status}.`,
  )
}

export async function get<Reply>(path: string, request: Request = {}): Promise<Reply> {
  if (isInFile(path)) {
    const answer = answerFromFile(path, request.query)
    if (answer === undefined)
      throw new ApiError(404, 'not_in_file', 'The file does not hold this: open the session on its server.')
    return answer as Reply
  }
  return (await send('GET', path, request)).json() as Promise<Reply>
}

/** Sends a change. Null if the server answers without content. */
export async function change<Reply>(
  method: 'POST' | 'PATCH' | 'DELETE',
  path: string,
  { isOnce = false, ...request }: Change = {},
): Promise<Reply> {
  const what = JSON.stringify([method, path, request.body])
  const key = (isOnce && unansweredKeyOf(what)) || newKey()
  if (isOnce) unanswered.set(what, { key, until: Date.now() + againMs })
  try {
    const text = await (await send(method, path, { key, body: {}, ...request })).text()
    unanswered.delete(what)
    return (text === '' ? null : JSON.parse(text)) as Reply
  } catch (error) {
    const isRefused = error instanceof ApiError && error.status >= 400 && error.status < 500
    if (isRefused) unanswered.delete(what)
    throw error
  }
}

/** The keys of changes that the server has not answered, by what they are. */
const unanswered = new Map<string, { readonly key: string; readonly until: number }>()
/** The same change, made later than this, is meant as another one. */
const againMs = 300_000

function unansweredKeyOf(what: string): string | undefined {
  const known = unanswered.get(what)
  return known !== undefined && known.until > Date.now() ? known.key : undefined
}

/** `crypto.randomUUID` exists only where the page came over https or from this machine. */
function newKey(): string {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
