/**
 * Duty: refuse requests that a foreign page made a browser send (DNS rebinding, cross-site requests), also on the loopback address.
 * ORIGIN-1 The host of a request is one of those that the server is known by. Anything else is 421.
 * ORIGIN-2 If a browser says that another site sent the request, it is refused with 403; except a link to the page, which the reader follows in a
 * window of its own: its files hold no data.
 */
import type { IncomingMessage } from 'node:http'
import { isIP } from 'node:net'
import { ApiError } from '../problem.ts'

/** Names of this machine that no foreign DNS server can decide about. */
const loopbackNames = ['localhost', '127.0.0.1', '[::1]']

/** An address of the loopback interface, which no other machine reaches. */
export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

/** `hosts`: names of the server beside those of its address, without a port. */
export class KnownHosts {
  readonly #names: ReadonlySet<string>

  constructor(bound: string, hosts: readonly string[]) {
    const own = isLoopback(bound) ? loopbackNames : []
    const address = isIP(bound) === 6 ? `[${bound}]` : bound
    this.#names = new Set([...own, address, ...hosts].map((name) => name.toLowerCase()))
  }

  /** `host`: with or without a port. */
  has(host: string): boolean {
    return this.#names.has(host.toLowerCase().replace(/:\d{1,5}$/, ''))
  }
}

/** Values of a browser's header that say that a page of the same server sent the request, or that somebody typed the address. */
const sameSite: ReadonlySet<string> = new Set(['same-origin', 'none'])

/** `isOfPage`: the request is for the page, and for no route that says something about the namespace. */
export function checkOrigin(request: IncomingMessage, hosts: KnownHosts, isOfPage = false): void {
  const { headers, url = '/', rawHeaders } = request
  // An absolute target has a host of its own, which would count in place of the header.
  const isOne = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host').length === 1
  if (!url.startsWith('/') || !isOne || headers.host === undefined || !hosts.has(headers.host))
    throw new ApiError(
      421,
      'host_unknown',
      'this server is not known by the host of this request: name it with --host-name, or hostNames in code.',
    )
  const { origin } = headers
  const site = headers['sec-fetch-site']
  const isForeign =
    (origin !== undefined && !isOriginOf(origin, headers.host)) ||
    (site !== undefined && (typeof site !== 'string' || !sameSite.has(site)) && !(isOfPage && isLink(request)))
  if (isForeign) throw new ApiError(403, 'origin_foreign', 'a page of another site made this request.')
}

/** A browser says so of a link in a whole window, and of no frame, image or script. */
function isLink({ method, headers }: IncomingMessage): boolean {
  return method === 'GET' && headers['sec-fetch-mode'] === 'navigate' && headers['sec-fetch-dest'] === 'document'
}

function isOriginOf(origin: string, host: string): boolean {
  return URL.canParse(origin) && new URL(origin).host === host.toLowerCase()
}
