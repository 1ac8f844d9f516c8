/** Duty: why no connection to a Redis came about, in one sentence with what to do. No such error holds a password. */
import { ConfigError, TransientError } from '../../core/errors.ts'
import { redisPlace, safeUrl } from '../../core/redis-url.ts'

export const loginRefused = /NOAUTH|WRONGPASS|NOPERM/
export const databaseRefused = /DB index|SELECT is not allowed/i
const permissionRefused = /NOPERM|user executing the script|ACL failure in script/

/** What to do about a user whom Redis does not know, or who may not do this. */
export function loginAdvice(reason: string): string {
  if (permissionRefused.test(reason)) {
    const place = /\b(?:keys?|channels?)\b/.test(reason) ? ' with ~{<namespace>.*}* and &{<namespace>.*}*' : ''
    return `its user may not do what troupe needs: allow it (ACL SETUSER${place}), or put another user and password into the URL.`
  }
  return reason.includes('WRONGPASS') ? 'correct user and password in the URL.' : 'put user and password into the URL.'
}

/** What TLS says of a certificate, and what to do. The first pattern that fits counts. */
const certificates: readonly (readonly [RegExp, string])[] = [
  [
    /certificate required/i,
    'it wants clients to show one, which troupe cannot: set tls-auth-clients to no or optional',
  ],
  [/altnames/i, 'name it in the URL as its certificate does'],
  [/expired|not yet valid/i, 'renew it, or correct the clock here'],
  [/certificate/i, 'let the variable NODE_EXTRA_CA_CERTS name the file of the authority that signed it'],
]

/** What ioredis says of a sentinel that did not tell where the Redis is, and of all of them, perhaps without having asked them again. */
const sentinelFailed = /^failed to connect to sentinel (\S+) because (.*?)\.?$/s
const sentinelsFailed = /^All sentinels are unreachable/
const unknownMaster = /No such master/
const notSentinel = /^ERR unknown command/

/** What ioredis says of an answer that no Redis gives, without its request to report it; TLS begins an alert with this byte. */
const notRedis = /^Unknown RESP type \d+ ".*?"/s
const tlsAlert = /^Unknown RESP type 21 /

/**
 * How much an error tells of why there is no connection. A Redis that has said a word then hangs up, which is an error of its own; and a sentinel out
 * of reach is no error while another one answers.
 */
export function weightOf({ name, message }: Error): number {
  const [, , why] = sentinelFailed.exec(message) ?? []
  if (name === 'ReplyError' || (why !== undefined && isWord(why))) return 3
  if (why !== undefined) return 1
  return sentinelsFailed.test(message) ? 0 : 2
}

function isWord(why: string): boolean {
  return unknownMaster.test(why) || notSentinel.test(why) || loginRefused.test(why)
}

/** Why none of the sentinels told where the Redis is; undefined if one did. */
function noSentinel(url: string, reason: string): ConfigError | TransientError | undefined {
  const [, at, why] = sentinelFailed.exec(reason) ?? []
  if (why === undefined) return undefined
  const sentinels = `the sentinels of ${safeUrl(url)}`
  if (unknownMaster.test(why)) {
    const { name } = redisPlace(url)
    return new ConfigError(`${sentinels} know no master named ${name}: SENTINEL MASTERS tells which they know.`)
  }
  if (notSentinel.test(why)) {
    return new ConfigError(`${at} in ${safeUrl(url)} is no sentinel: the URL of a Redis itself begins with redis://.`)
  }
  if (loginRefused.test(why)) {
    return new ConfigError(
      `${sentinels} refused the login (${why}): end the URL with ?sentinelUsername=…&sentinelPassword=….`,
    )
  }
  return new TransientError(
    `no sentinel of ${safeUrl(url)} answers (${at}: ${why}). Start them, or set TROUPE_REDIS_URL (redisUrl in code).`,
    { code: 'store_unavailable' },
  )
}

/** What a Redis says when it refuses a connection, and what to do. */
const refusals: readonly (readonly [RegExp, string])[] = [
  [/max number of clients/, 'Close connections, or raise maxclients'],
  [/^LOADING/, 'Wait: it answers when it has'],
  [/^BUSY/, 'Wait, or end what it runs (SCRIPT KILL, FUNCTION KILL)'],
  [/^MASTERDOWN/, 'It is a replica: point TROUPE_REDIS_URL (redisUrl in code) at the primary, or wait for that'],
]

/** `lastError` is the last error that the connection reported; it may hold the password as an argument of its command. */
export function noConnection(url: string, lastError: unknown, cause: unknown): ConfigError | TransientError {
  const at = `Redis at ${safeUrl(url)}`
  const reason = reasonOf(lastError)
  const withoutSentinel = noSentinel(url, reason)
  if (withoutSentinel !== undefined) return withoutSentinel
  if (databaseRefused.test(reason)) {
    return new ConfigError(
      `${at} has no such database (${reason}): end the URL with the number of one that it has, or with none.`,
      { cause },
    )
  }
  if (loginRefused.test(reason)) {
    const what = permissionRefused.test(reason) ? 'refused' : 'refused the login'
    // The error gets no `cause`, because that holds the password as an argument of the command.
    return new ConfigError(`${at} ${what} (${reason}); ${loginAdvice(reason)}`)
  }
  const [unknownProtocol] = notRedis.exec(reason) ?? []
  if (unknownProtocol !== undefined) {
    const advice = tlsAlert.test(reason)
      ? 'if it speaks TLS, its URL begins with rediss://'
      : 'correct host and port in the URL'
    return new ConfigError(`what listens at ${safeUrl(url)} is no Redis (${unknownProtocol}): ${advice}.`, { cause })
  }
  const [, certificateAdvice] = certificates.find(([what]) => what.test(reason)) ?? []
  if (certificateAdvice !== undefined) {
    return new ConfigError(`there is no TLS connection to ${at} (${reason}): ${certificateAdvice}.`, { cause })
  }
  const [, missing] = /unknown command [`']?(\w+)/i.exec(reason) ?? []
  if (missing !== undefined) {
    return new ConfigError(
      `${at} has no command ${missing}, which troupe needs: its configuration takes it away (rename-command).`,
      { cause },
    )
  }
  const [, todo] = refusals.find(([what]) => what.test(reason)) ?? []
  if (todo !== undefined) {
    return new TransientError(`${at} takes no connection now (${reason.replace(/\.$/, '')}). ${todo}.`, {
      code: 'store_unavailable',
      cause,
    })
  }
  return new TransientError(
    `${at} does not answer (${reason}). Start it, or set TROUPE_REDIS_URL (redisUrl in code)${tlsAdvice(url, reason)}.`,
    { code: 'store_unavailable', cause },
  )
}

/** Errors of OpenSSL have in a field of their own what their message buries among names of files. */
function reasonOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return String(thrown)
  const { reason, message, code = '' } = thrown as NodeJS.ErrnoException & { reason?: unknown }
  return code.startsWith('ERR_SSL') && typeof reason === 'string' ? reason : message || code
}

/** If only one side speaks TLS, each side waits for the other, or one of them hangs up. */
function tlsAdvice(url: string, reason: string): string {
  if (url.startsWith('rediss:')) {
    return /no answer within|wrong version number/.test(reason) ? '; without TLS its URL begins with redis://' : ''
  }
  return /ECONNRESET/.test(reason) ? '; if it speaks TLS, its URL begins with rediss://' : ''
}
