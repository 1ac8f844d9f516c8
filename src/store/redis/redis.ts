/**
 * Duty: connections to Redis: how they are opened, waited for and closed.
 * REDIS-1 Commands are re-sent after a reconnect (ioredis does so for all that are in flight), hence every script is idempotent.
 */
import { performance } from 'node:perf_hooks'
import { Redis, type RedisOptions } from 'ioredis'
import { ConflictError } from '../../core/errors.ts'
import { checkRedisUrl, redisPlace } from '../../core/redis-url.ts'
import { rememberPasswordsIn } from '../../core/secret/known-secrets.ts'
import { followPrimary } from './connector/primary-connector.ts'
import { Deadlines } from './deadlines.ts'
import { databaseRefused, loginRefused, noConnection, weightOf } from './no-connection.ts'
import { dropUnwaited } from './offline-queue.ts'
import { SilenceWatch } from './silence-watch.ts'

/** How long a Redis is asked whether it still loads its file: at the end of the time that it has to answer, and for half of that time at most. */
const loadingMs = 500
/** How long an ended connection waits for its other end: a Redis that stands still would keep alive a process that is done. */
const endMsMax = 250
const sentinelMsMax = 1_000
const deadlines = new Deadlines()
const silence = new SilenceWatch()

export type { Redis }

/** Finds the server to which a connection goes, again at each attempt to open it; without one, the address says where it goes. */
export type Finding = Pick<RedisOptions, 'Connector' | 'reconnectOnError'>

/**
 * A connection that never gives up by itself, unless its login is refused. Callers set deadlines of their own, and `patienceMs` says how long any of
 * them waits. If the address is wrong, this throws a ConfigError and opens nothing.
 */
export function openRedis(url: string, patienceMs?: number, finding?: Finding): Redis {
  const redis = open(url, { enableOfflineQueue: true, autoResendUnfulfilledCommands: true, ...finding })
  keepWaiting(redis)
  if (patienceMs !== undefined) dropUnwaited(redis, patienceMs, deadlines)
  return redis
}

/** Does the connection go to the server of a cluster that has a slot? Tests pass only parts of a connection. */
export function followsSlot(redis: Redis): boolean {
  const { Connector, sentinels } = (redis.options as Redis['options'] | undefined) ?? {}
  return Connector !== undefined && !sentinels
}

/** A connection whose commands fail while Redis is away and are never sent again: for what may be lost and must not come twice. */
export function openLossyRedis(url: string, finding?: Finding): Redis {
  return open(url, { enableOfflineQueue: false, autoResendUnfulfilledCommands: false, ...finding })
}

type Patience = Pick<RedisOptions, 'enableOfflineQueue' | 'autoResendUnfulfilledCommands'>

function open(url: string, patience: Patience & Finding): Redis {
  checkRedisUrl(url)
  rememberPasswordsIn(url)
  const { url: server, ...sentinels } = redisPlace(url)
  const redis = new Redis(server, {
    ...sentinels,
    ...(sentinels.sentinels && followPrimary()),
    // The next sentinel is asked after this long: one may stand still.
    sentinelCommandTimeout: sentinelMsMax,
    sentinelRetryStrategy: pauseBefore,
    maxRetriesPerRequest: null,
    disconnectTimeout: endMsMax,
    // Replies are the same in either protocol; the older one is decoded faster (bench/history.md).
    protocol: 2,
    enableReadyCheck: true,
    // With client info, what Redis says to a connection that it refuses would answer a command that nobody listens to.
    disableClientInfo: true,
    retryStrategy: pauseBefore,
    reconnectOnError: (error) => (/(^|: -)READONLY/.test(error.message) ? 1 : false),
    ...patience,
  })
  stayInDatabase(redis)
  leaveOnce(redis)
  joinWrites(redis)
  watchSilence(redis)
  noteLoss(redis)
  subscribeAgainQuietly(redis)
  return redis
}

export function pauseBefore(attempt: number): number {
  return Math.min(50 * 2 ** Math.min(attempt, 6), 1_000) * (0.5 + Math.random() / 2)
}

/**
 * If Redis refuses the database, ioredis would go on in database 0, and write there. Without a listener ioredis also prints each failed reconnect;
 * whoever needs to know learns it from the call that fails.
 */
function stayInDatabase(redis: Redis): void {
  redis.on('error', (error: Error & { command?: { name?: string } }) => {
    if (error.command?.name === 'select') redis.disconnect(true)
  })
}

const lost = new WeakSet<Redis>()

function noteLoss(redis: Redis): void {
  redis.on('close', () => lost.add(redis))
  redis.on('ready', () => lost.delete(redis))
}

/** Was the connection lost, and is not back? */
export function isLost(redis: Redis): boolean {
  return lost.has(redis)
}

/** The connections that BullMQ made as copies of ours, to block on. */
const copies = new WeakMap<Redis, Redis[]>()

function watchSilence(redis: Redis): void {
  const made: Redis[] = []
  copies.set(redis, made)
  silence.watch(redis)
  const duplicate = redis.duplicate.bind(redis)
  redis.duplicate = (override) => {
    const another = duplicate(override)
    made.push(another)
    stayInDatabase(another)
    silence.watch(another)
    endAloud(another)
    return another
  }
}

/**
 * Each command that a replica refuses has ioredis open the connection anew; for the first of them it does so already. It would listen for the end of
 * the connection once for each command, and Node would warn of a leak.
 */
function leaveOnce(redis: Redis): void {
  const disconnect = redis.disconnect.bind(redis)
  redis.disconnect = (reconnect) => {
    if (!reconnect || !redis.stream?.writableEnded) disconnect(reconnect)
  }
}

/** ioredis emits no `end` for a connection that is ended between two attempts to open it, and BullMQ waits for that event as it closes. */
function endAloud(redis: Redis): void {
  const disconnect = redis.disconnect.bind(redis)
  redis.disconnect = (reconnect) => {
    const isBetween = redis.status === 'reconnecting' && !reconnect
    disconnect(reconnect)
    if (!isBetween) return
    redis.status = 'end'
    redis.emit('end')
  }
}

/** Ends a connection for good. While BullMQ brings back a connection that was lost, it would open it again after it has closed it. */
export function endRedis(redis: Redis): void {
  for (const copy of copies.get(redis) ?? []) {
    copy.connect = () => Promise.reject(connectionClosed())
    if (copy.status !== 'end') copy.disconnect()
  }
  const isBetween = redis.status === 'reconnecting'
  endWith(redis, connectionClosed)
  // Between two attempts to open it ioredis does not note the end, and commands would wait for the next attempt.
  if (isBetween) redis.status = 'end'
}

/** The error that ioredis gives. */
function connectionClosed(): Error {
  return new Error('Connection is closed.')
}

/**
 * A Redis that is busy with a script refuses the first commands of a new connection. ioredis then connects again, and fails all commands that wait
 * for the connection; here they go on waiting.
 */
function keepWaiting(redis: Redis): void {
  const recover = redis.recoverFromFatalError.bind(redis)
  redis.recoverFromFatalError = (commandError, error, options) =>
    recover(commandError, error, { ...options, offlineQueue: loginRefused.test(error.message) })
}

/** A packet of this length goes out at once: Redis begins with it while this process still makes the next. */
const packetBytes = 4_096

/**
 * Commands issued in one turn of the event loop go out as few packets: a write for each would cost this process and Redis more
 * than the command itself, and one for all would have each wait for the other (bench/history.md).
 */
function joinWrites(redis: Redis): void {
  const send = redis.sendCommand.bind(redis)
  redis.sendCommand = (command, target) => {
    const stream = redis.stream
    if (stream?.writable && stream.writableCorked === 0) {
      stream.cork()
      process.nextTick(() => stream.uncork())
    }
    const sent = send(command, target)
    if (stream?.writableCorked && stream.writableLength >= packetBytes) {
      stream.uncork()
      stream.cork()
    }
    return sent
  }
}

/**
 * When a connection is back, ioredis subscribes again by itself and looks at no answer: if the connection ends before one, the rejection, which
 * nobody handles, would end the process.
 */
function subscribeAgainQuietly(redis: Redis): void {
  const subscribe = redis.subscribe.bind(redis)
  redis.subscribe = ((...channels: string[]) => {
    const subscribing = subscribe(...channels)
    subscribing.catch(() => {})
    return subscribing
  }) as Redis['subscribe']
}

/** The error for whatever a client is asked after it was closed. */
export function clientClosed(): ConflictError {
  return new ConflictError('client_closed', 'this client was closed: connect again.')
}

/** Internals of ioredis: commands without an answer, and the method that fails them. */
interface Unanswered {
  prevCommandQueue?: { shift(): { readonly command: { reject(error: Error): void } } | undefined } | null
  flushQueue(error: Error, options?: object): void
}

/** Ends a client's connection: whatever it is asked from now on, and whatever gets no answer any more, fails with the error that the client was closed. */
export function closeRedis(redis: Redis): void {
  redis.sendCommand = (command) => {
    command.reject(clientClosed())
    return command.promise
  }
  endWith(redis, clientClosed)
}

/** Ends a connection, and fails the commands that get no answer any more. */
function endWith(redis: Redis, error: () => Error): void {
  const inside = redis as unknown as Unanswered
  const flush = inside.flushQueue.bind(redis)
  inside.flushQueue = (_, options) => {
    flush(error(), options)
    // Commands of a connection that was lost wait here for the next one.
    for (let sent = inside.prevCommandQueue?.shift(); sent; sent = inside.prevCommandQueue?.shift())
      sent.command.reject(error())
  }
  // A command that Redis is working on may still be answered, and fails with the connection otherwise. A command that was never sent fails now, as
  // there may be no connection whose end would tell.
  const isAnswering = redis.status === 'ready'
  redis.disconnect()
  inside.flushQueue(error(), { commandQueue: !isAnswering })
}

/** Resolves when Redis answers; throws an error that names the address when it does not within `deadlineMs`. */
export async function awaitRedis(redis: Redis, url: string, deadlineMs: number): Promise<void> {
  let last: Error | undefined
  const { promise: noDatabase, reject } = Promise.withResolvers<never>()
  const remember = (error: Error) => {
    if (last === undefined || weightOf(error) >= weightOf(last)) last = error
    if (databaseRefused.test(error.message)) reject(error)
  }
  redis.on('error', remember)
  redis.on('sentinelError', remember)
  let loading: Promise<Error | undefined> | undefined
  const askMs = Math.min(loadingMs, deadlineMs / 2)
  const asking = setTimeout(() => {
    loading = loadingError(redis, askMs)
  }, deadlineMs - askMs)
  try {
    await withDeadline(Promise.race([redis.ping().catch(unlessUnsaved), noDatabase]), deadlineMs)
  } catch (cause) {
    throw noConnection(url, (await loading) ?? last ?? cause, cause)
  } finally {
    clearTimeout(asking)
    redis.off('error', remember)
    redis.off('sentinelError', remember)
  }
}

/** While Redis loads its file, ioredis waits in silence, and sends nothing but this question. */
async function loadingError(redis: Redis, ms: number): Promise<Error | undefined> {
  if (redis.status !== 'connect') return undefined
  const info = await withDeadline(redis.info('persistence'), ms).catch(() => '')
  return /^loading:1/m.test(info) ? new Error('LOADING Redis is loading the dataset in memory') : undefined
}

/** A Redis that cannot save to its disk refuses PING as it refuses writes. It answers, and what is read is read. */
function unlessUnsaved(error: Error): void {
  if (!error.message.startsWith('MISCONF')) throw error
}

export function withDeadline<T>(promise: Promise<T>, ms: number): Promise<T> {
  return deadlines.within(promise, ms)
}

/** The same for a promise that gets what is left of `ms`, which began at `since`. The error names all of that time: it is what the caller gave. */
export function withinRest<T>(promise: Promise<T>, ms: number, since: number): Promise<T> {
  return deadlines.within(promise, Math.max(1, since + ms - performance.now()), ms)
}
