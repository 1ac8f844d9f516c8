/**
 * Duty: check the address of a Redis, and show it without passwords.
 * REDIS-URL-1 An address that a client would misread is refused before a connection is opened: for example, a password that is cut at its
 *             "#", or a database that is not a number.
 * REDIS-URL-2 No error quotes any part of the address. What is shown of an address is built from its parsed parts, and only from those that hold
 *             no secret: scheme, host, port, path of a socket, database, and the user if a password follows it.
 * REDIS-URL-3 Only known options may follow the "?": the client passes over others, or takes them for something else.
 */
import { closest } from './check/closest.ts'
import { ConfigError } from './errors.ts'

const example = 'redis://127.0.0.1:6379'
const clusterExample = 'redis://host1:7000,host2:7000,host3:7000'
const sentinelExample = 'redis+sentinel://host1:26379,host2:26379/mymaster'
const sentinelPort = 26_379
const portMax = 65_535
const ownTimes = 'troupe has deadlines of its own (deadlineMs in code)'
/** Options that an address of a Redis may hold after its "?". */
const serverOptions = ['username', 'password', 'db', 'family', 'host', 'port', 'path', 'functions']

const user = 'user and password stand before the host, like redis://user:password@host'
const tls = 'a URL with TLS begins with rediss://'
const database = 'the database is the number behind the host, like redis://host:6379/3'
/**
 * Options that people try, and what to do instead. The client accepts some of them, and would also ignore times, because it reads them as
 * text.
 */
const refusedOptions: Readonly<Record<string, string>> = {
  keyPrefix: 'troupe separates keys by a namespace, TROUPE_NAMESPACE (namespace in code)',
  connectTimeout: ownTimes,
  commandTimeout: ownTimes,
  socketTimeout: ownTimes,
  blockingTimeout: ownTimes,
  timeout: ownTimes,
  tls,
  ssl: tls,
  database,
  dbnum: database,
  user,
  login: user,
  pass: user,
  passwd: user,
  pwd: user,
  auth: user,
  sentinels: `a URL with sentinels is like ${sentinelExample}`,
}

/** Options that an address with sentinels may hold after its "?". */
const sentinelOptions = ['username', 'password', 'sentinelUsername', 'sentinelPassword', 'family', 'db', 'functions']

/** Options that an address with several servers of a cluster may hold after its "?". */
const clusterOptions = ['username', 'password', 'family', 'db', 'functions']

/** Throws a ConfigError for an address to which no client could connect, or which would lead a client to another place than meant. */
export function checkRedisUrl(url: string): void {
  if (sentinelScheme.test(url)) checkSentinels(url)
  else if (url.startsWith('unix://')) checkSocket(url)
  else if (/^\/(?!\/)/.test(url)) checkSocketOptions(queryOf(url))
  else if (serversOf(url).length > 1) checkServers(url)
  else checkServer(url)
}

/** Checks the address of a cluster, which names several servers. */
function checkServers(url: string): void {
  for (const server of serversOf(url)) {
    if (/^rediss?:\/\/([^/?#]*@)?(:\d*)?([/?#]|$)/.test(server)) throw noHost(clusterExample)
    checkServer(server, { isOneOfSeveral: true })
    checkOptionNames(queryOf(server), clusterOptions, 'a Redis URL with several servers')
    if (/^\/[1-9]/.test(databaseOf(new URL(server).pathname, queryOf(server))))
      throw new ConfigError('a Redis URL with several servers is that of a cluster, which has database 0 alone.')
  }
}

/**
 * The address of each server that an address names: servers of a cluster stand behind the login with commas between them. For any other address, that
 * address.
 */
export function serversOf(url: string): readonly string[] {
  const [, scheme, rest] = /^(rediss?:)?\/\/(.*)$/s.exec(url) ?? []
  if (rest === undefined) return [url]
  const { authority, behind } = split(rest)
  const hostsAt = authority.lastIndexOf('@') + 1
  const start = `${scheme ?? ''}//${authority.slice(0, hostsAt)}`
  return authority
    .slice(hostsAt)
    .split(',')
    .map((host) => start + host + behind)
}

/** The address of another server of the cluster that this address names a server of: with the same login and options. */
export function otherServer(url: string, host: string, port: number): string {
  const [first] = serversOf(url) as [string]
  const [, scheme = 'redis:', rest = ''] = /^(rediss?:)?\/\/(.*)$/s.exec(first) ?? []
  const { authority, behind } = split(rest)
  const login = authority.slice(0, authority.lastIndexOf('@') + 1)
  return `${scheme}//${login}${host.includes(':') ? `[${host}]` : host}:${port}${behind}`
}

function checkServer(url: string, { isOneOfSeveral = false } = {}): void {
  // An address that begins with two slashes has no scheme.
  const [, rest] = /^(?:rediss?:)?\/\/(.*)$/s.exec(url) ?? []
  if (rest === undefined)
    throw new ConfigError(
      `the Redis URL must begin with redis://, rediss://, unix:// or redis+sentinel://, like ${example}.`,
    )
  const { authority, behind } = split(rest)
  const query = queryOf(behind)
  // After host and port, an "@" is only allowed in the value of an option such as a password.
  const asWritten = behind.replace(/([?&](?:\w*name|\w*password|path)=)[^&#]*/gi, '$1')
  if (asWritten.includes('@') || !canDecode(authority)) throw unencoded()
  if (!URL.canParse(`redis://${rest}`)) throw unreadablePlace(authority)
  const { hostname, port, pathname, hash } = new URL(`redis://${rest}`)
  if (hash !== '') {
    throw new ConfigError('the Redis URL has a "#", which has no meaning in it: write %23 if it is part of a password.')
  }
  if (hostname === '' && !query.has('host') && !query.has('path')) throw noHost()
  if (port !== '') checkPort(port)
  if (pathname.length > 1) checkDatabase(pathname.replace(/^\/|\/$/g, ''))
  checkQuery(query)
  if (!isOneOfSeveral) checkOptionNames(query, serverOptions, 'the Redis URL')
}

/** An address in the form that the client takes: a server; or sentinels, and the name by which they know the server. */
export interface RedisPlace {
  readonly url: string
  readonly sentinels?: { readonly host: string; readonly port: number }[]
  readonly name?: string
}

/** Reads an address that has been checked. */
export function redisPlace(url: string): RedisPlace {
  if (!sentinelScheme.test(url)) return { url: serversOf(url)[0] as string }
  const { servers, name } = readSentinels(url)
  const sentinels = servers.map((server) => {
    const { hostname, port } = new URL(server)
    return { host: hostname.replace(/^\[|\]$/g, ''), port: Number(port || sentinelPort) }
  })
  return { url: servers[0] as string, sentinels, name }
}

const sentinelScheme = /^redis\+sentinel:\/\//

/** `servers`: for each sentinel, the address of a plain Redis with the sentinel's host, so that the same checks can be used. */
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
    checkServer(server, { isOneOfSeveral: true })
    checkOptionNames(queryOf(server), sentinelOptions, 'a Redis URL with sentinels')
  }
  if (!/^[\w.-]+$/.test(name)) {
    throw new ConfigError(
      `the Redis URL must name the Redis as its sentinels know it, in letters, digits and "._-", like ${sentinelExample}.`,
    )
  }
}

/** The client reads everything after `unix://` as the path of a socket, and never as a user. */
function checkSocket(url: string): void {
  const rest = url.slice('unix://'.length)
  const { authority, behind } = split(rest)
  if (authority.includes('@')) {
    throw new ConfigError(
      'the Redis URL of a socket takes no user before its path: add ?username=…&password=… at its end.',
    )
  }
  if (rest.includes('#') || !/[^/]/.test(rest.replace(/\?.*$/s, ''))) {
    throw new ConfigError('the Redis URL must name the path of a socket, like unix:///run/redis.sock, without a "#".')
  }
  checkSocketOptions(queryOf(behind))
}

function checkSocketOptions(query: URLSearchParams): void {
  checkQuery(query)
  checkOptionNames(query, ['username', 'password', 'db', 'functions'], 'the Redis URL of a socket')
}

function checkQuery(query: URLSearchParams): void {
  // If an option is repeated, the client uses the last value.
  const [database, port] = [query.getAll('db').at(-1), query.getAll('port').at(-1)]
  if (database !== undefined) checkDatabase(database)
  if (port !== undefined) checkPort(port)
  const refused = Object.keys(refusedOptions).find((name) => query.has(name))
  if (refused !== undefined)
    throw new ConfigError(`the Redis URL takes no ${refused}: ${refusedOptions[refused]}. Leave it out.`)
  const family = query.getAll('family').at(-1)
  if (family !== undefined && !/^[046]$/.test(family))
    throw new ConfigError('family in the Redis URL must be 4 or 6, or 0 for both.')
  const functions = query.getAll('functions').at(-1)
  if (functions !== undefined && !/^(?:yes|no)$/.test(functions))
    throw new ConfigError(
      'functions in the Redis URL must be yes or no: whether scripts are kept in Redis as functions.',
    )
}

/** The error does not quote the name: it may be a part of a password. */
function checkOptionNames(query: URLSearchParams, known: readonly string[], what: string): void {
  const unknown = [...query.keys()].find((name) => !known.includes(name))
  if (unknown === undefined) return
  const near = closest(unknown, known)
  const advice = near === undefined ? '' : ` Did you mean ${near}?`
  throw new ConfigError(`${what} takes only these options after its "?": ${known.join(', ')}.${advice}`)
}

function checkDatabase(text: string, like = example): void {
  if (!/^\d+$/.test(text)) {
    throw new ConfigError(`the database in the Redis URL must be a whole number, 0 or more, like ${like}/3.`)
  }
}

function checkPort(text: string): void {
  if (!/^\d+$/.test(text) || Number(text) < 1 || Number(text) > portMax) {
    throw new ConfigError(`the port in the Redis URL must be a whole number from 1 to ${portMax}, like ${example}.`)
  }
}

/** Says why user, host and port cannot be read. */
function unreadablePlace(authority: string): ConfigError {
  // The colons of an IPv6 address stand in brackets.
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
    'the Redis URL cannot be read: its user or password seems to hold a plain #, /, ? or %. Percent-encode user and password: # is %23, / is %2F, ? is %3F, % is %25, @ is %40.',
  )
}

/** Splits user, host and port from the rest of the address. */
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

/** An address for people: without password, and without options but the database. */
export function safeUrl(url: string): string {
  if (sentinelScheme.test(url)) return safeSentinels(url)
  const [, socket] = /^(?:unix:\/\/)?(\/(?!\/)[^?]*|\/\/\/[^?]*)/.exec(url) ?? []
  if (socket !== undefined) return (url.startsWith('unix:') ? 'unix://' : '') + socket + databaseOf('', queryOf(url))
  const [, scheme = 'redis:', rest] = /^(rediss?:)?(\/\/.*)$/s.exec(url) ?? []
  if (serversOf(url).length > 1) return safeServers(url)
  if (rest === undefined || !URL.canParse(`redis:${rest}`)) return hidden
  const { username, password, host, pathname } = new URL(`redis:${rest}`)
  const query = queryOf(url)
  const path = query.get('path')
  if (path !== null) return path + databaseOf(pathname, query)
  const place = host || [query.get('host'), query.get('port')].filter(Boolean).join(':')
  return place === '' ? hidden : `${scheme}//${safeUser(username, password)}${place}${databaseOf(pathname, query)}`
}

const hidden = 'the given address'

/** A user without a password is often a password that was written at the place of the user. */
function safeUser(username: string, password: string): string {
  if (password !== '') return `${username}:***@`
  return username === '' ? '' : '***@'
}

function databaseOf(path: string, query: URLSearchParams): string {
  const number = query.get('db') ?? path.replace(/^\/|\/$/g, '')
  return /^\d+$/.test(number) ? `/${number}` : ''
}

function safeServers(url: string): string {
  const [first = hidden, ...more] = serversOf(url).map(safeUrl)
  // Each server is shown with the login, and with the part after the servers.
  const [, start = ''] = /^(rediss?:\/\/(?:[^@]*@)?)/.exec(first) ?? []
  const [, behind = ''] = /[^/](\/\d+)$/.exec(first) ?? []
  const hosts = [first, ...more].map((one) => one.slice(start.length, one.length - behind.length))
  return start === '' ? hidden : start + hosts.join(',') + behind
}

/** Node cannot parse an address with several hosts. */
function safeSentinels(url: string): string {
  const rest = url.replace(sentinelScheme, '')
  const [, login = '', place = ''] = /^(.*@)?(.*)$/s.exec(rest.replace(/\?.*$/s, '')) ?? []
  const [hosts = '', name = '', database = ''] = place.split('/')
  if (!/^[\w.,:[\]-]+$/.test(hosts)) return hidden
  const [, username = '', password = ''] = /^([^:]*):?(.*)@$/s.exec(login) ?? []
  const named = /^[\w.-]+$/.test(name) ? `/${name}` : ''
  return `redis+sentinel://${safeUser(username, password)}${hosts}${named}${databaseOf(database, queryOf(url))}`
}
