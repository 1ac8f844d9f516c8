/**
 * Duty: the address of a Redis as text: what is wrong with it, and how it is shown.
 * U-a What a client would misread (a password that is cut at its "#", a database that is no number) is refused before a connection
 *     is opened. U-b No error holds any of the address, and none that is shown holds a password.
 */
import { ConfigError } from './errors.ts'

const example = 'redis://127.0.0.1:6379'
const sentinelExample = 'redis+sentinel://host1:26379,host2:26379/mymaster'
const sentinelPort = 26_379
const portMax = 65_535
const ownTimes = 'troupe has deadlines of its own (deadlineMs in code)'
/** Options of the client that an address may hold, but not for troupe. It takes times as text for no times. */
const refusedOptions: Readonly<Record<string, string>> = {
  keyPrefix: 'keys are told apart by a namespace, TROUPE_NAMESPACE (namespace in code)',
  connectTimeout: ownTimes,
  commandTimeout: ownTimes,
  socketTimeout: ownTimes,
  blockingTimeout: ownTimes,
}

/** What an address with sentinels may say behind its "?". `db` is understood wherever a database is. */
const sentinelOptions = ['username', 'password', 'sentinelUsername', 'sentinelPassword', 'family', 'db']

/** Throws a ConfigError that says what is wrong with an address that no client could connect to, or not where it was meant. */
export function checkRedisUrl(url: string): void {
  if (sentinelScheme.test(url)) checkSentinels(url)
  else if (url.startsWith('unix://')) checkSocket(url)
  else if (/^\/(?!\/)/.test(url)) checkQuery(queryOf(url))
  else checkServer(url)
}

function checkServer(url: string): void {
  // Of what begins with two slashes the scheme was left out.
  const [, rest] = /^(?:rediss?:)?\/\/(.*)$/s.exec(url) ?? []
  if (rest === undefined)
    throw new ConfigError(
      `the Redis URL must begin with redis://, rediss://, unix:// or redis+sentinel://, like ${example}.`,
    )
  const { authority, behind } = split(rest)
  const query = queryOf(behind)
  // Behind host and port no "@" is meant, but in the value of an option that may hold one.
  const asWritten = behind.replace(/([?&](?:\w*name|\w*password|path)=)[^&#]*/gi, '$1')
  if (asWritten.includes('@') || !canDecode(authority)) throw unencoded()
  if (!URL.canParse(`redis://${rest}`)) throw unreadablePlace(authority)
  const { hostname, port, pathname, hash } = new URL(`redis://${rest}`)
  if (hash !== '') {
    throw new ConfigError('the Redis URL has a "#", which has no meaning there: write %23 if it is part of a password.')
  }
  if (hostname === '' && !query.has('host') && !query.has('path')) throw noHost()
  if (port !== '') checkPort(port)
  if (pathname.length > 1) checkDatabase(pathname.replace(/^\/|\/$/g, ''))
  checkQuery(query)
}

/** An address as a client takes it: that of one server, and which sentinels to ask, by which name, where that server is now. */
export interface RedisPlace {
  readonly url: string
  readonly sentinels?: { readonly host: string; readonly port: number }[]
  readonly name?: string
}

/** Where an address that was checked leads. */
export function redisPlace(url: string): RedisPlace {
  if (!sentinelScheme.test(url)) return { url }
  const { servers, name } = readSentinels(url)
  const sentinels = servers.map((server) => {
    const { hostname, port } = new URL(server)
    return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || sentinelPort) }
  })
  return { url: servers[0] as string, sentinels, name }
}

const sentinelScheme = /^redis\+sentinel:\/\//

/** `servers`: each sentinel in the address that the Redis would have in its place. */
function readSentinels(url: string): { servers: string[]; name: string; database: string | undefined } {
  const { authority, behind } = split(url.replace(sentinelScheme, ''))
  const hostsAt = authority.lastIndexOf('@') + 1
  const [path = '', query = ''] = [/^[^?#]*/.exec(behind)?.[0], /[?#].*$/s.exec(behind)?.[0]]
  const [, name = '', ...more] = path.replace(/\/$/, '').split('/')
  const database = more.length === 0 ? undefined : more.join('/')
  const servers = authority
    .slice(hostsAt)
    .split(',')
    .map((host) => `redis://${authority.slice(0, hostsAt)}${host}/${database ?? ''}${query}`)
  return { servers, name, database }
}

function checkSentinels(url: string): void {
  const { servers, name, database } = readSentinels(url)
  if (name.includes('@') || database?.includes('@')) throw unencoded()
  if (database !== undefined) checkDatabase(database, sentinelExample)
  for (const server of servers) {
    if (/^redis:\/\/([^/?#]*@)?(:\d*)?[/?#]/.test(server)) throw noHost(sentinelExample)
    checkServer(server)
    const refused = [...queryOf(server).keys()].find((option) => !sentinelOptions.includes(option))
    if (refused !== undefined) {
      throw new ConfigError(
        `behind its "?" the Redis URL with sentinels takes ${sentinelOptions.join(', ')}, and nothing else.`,
      )
    }
  }
  if (!/^[\w.-]+$/.test(name)) {
    throw new ConfigError(
      `the Redis URL must say by which name its sentinels know the Redis, in letters, digits and "._-", like ${sentinelExample}.`,
    )
  }
}

/** A client takes what follows `unix://` for the path of a socket, and nothing for a user. */
function checkSocket(url: string): void {
  const rest = url.slice('unix://'.length)
  const { authority, behind } = split(rest)
  if (authority.includes('@')) {
    throw new ConfigError(
      'the Redis URL of a socket takes no user before its path: end it with ?username=…&password=….',
    )
  }
  if (rest.includes('#') || !/[^/]/.test(rest.replace(/\?.*$/s, ''))) {
    throw new ConfigError('the Redis URL must name the path of a socket, like unix:///run/redis.sock, without a "#".')
  }
  checkQuery(queryOf(behind))
}

function checkQuery(query: URLSearchParams): void {
  // Of several with one name the last counts.
  const [database, port] = [query.getAll('db').at(-1), query.getAll('port').at(-1)]
  if (database !== undefined) checkDatabase(database)
  if (port !== undefined) checkPort(port)
  const refused = Object.keys(refusedOptions).find((name) => query.has(name))
  if (refused !== undefined)
    throw new ConfigError(`the Redis URL takes no ${refused}: ${refusedOptions[refused]}. Leave it out.`)
}

function checkDatabase(text: string, like = example): void {
  if (!/^\d+$/.test(text)) {
    throw new ConfigError(`the database in the Redis URL must be a whole number from 0 on, like ${like}/3.`)
  }
}

function checkPort(text: string): void {
  if (!/^\d+$/.test(text) || Number(text) < 1 || Number(text) > portMax) {
    throw new ConfigError(`the port in the Redis URL must be a whole number from 1 to ${portMax}, like ${example}.`)
  }
}

/** Why user, host and port are none. */
function unreadablePlace(authority: string): ConfigError {
  // The colons of an IPv6 address are in brackets.
  const place = authority.slice(authority.lastIndexOf('@') + 1).replace(/^\[[^\]]*\]/, 'host')
  const [, port] = /^[^:]*:([^:]*)$/.exec(place) ?? []
  if (place === '' || (place.startsWith(':') && /^\d*$/.test(port ?? 'x'))) return noHost()
  if (port !== undefined && (!/^\d+$/.test(port) || Number(port) > portMax)) {
    return new ConfigError(
      `the port in the Redis URL must be a whole number from 1 to ${portMax}, and "@" must end user and password, like redis://user:password@host:6379.`,
    )
  }
  return new ConfigError(
    `host and port in the Redis URL cannot be read: they should be like ${example}, or redis://[::1]:6379 with an IPv6 address.`,
  )
}

function noHost(like = example): ConfigError {
  return new ConfigError(`the Redis URL names no host: it should be like ${like}.`)
}

function unencoded(): ConfigError {
  return new ConfigError(
    'the Redis URL cannot be read: it looks as if user or password hold #, /, ? or % as they are. Percent-encode user and password: # is %23, / is %2F, ? is %3F, % is %25, @ is %40.',
  )
}

/** User, host and port; and what follows them. */
function split(rest: string): { authority: string; behind: string } {
  const end = rest.search(/[/?#]/)
  return end < 0 ? { authority: rest, behind: '' } : { authority: rest.slice(0, end), behind: rest.slice(end) }
}

function queryOf(text: string): URLSearchParams {
  const [, query] = /\?([^#]*)/.exec(text) ?? []
  return new URLSearchParams(query ?? '')
}

function canDecode(authority: string): boolean {
  try {
    decodeURIComponent(authority.slice(0, authority.lastIndexOf('@') + 1))
    return true
  } catch {
    return false
  }
}

/** The address without its passwords. */
export function safeUrl(url: string): string {
  const shown = url.replace(/([?&]\w*password=)[^&#]*/gi, '$1***')
  if (url.startsWith('/')) return shown
  // Several hosts are no URL to Node.
  if (sentinelScheme.test(url)) return shown.replace(/^([^:]*:\/\/[^:@/]*):.*@/s, '$1:***@')
  try {
    const parsed = new URL(shown)
    if (parsed.password) parsed.password = '***'
    return parsed.toString()
  } catch {
    return 'the given address'
  }
}
