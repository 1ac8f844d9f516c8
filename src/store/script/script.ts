/**
 * Duty: Lua scripts as typed functions. A descriptor names the file, its keys and its arguments; callers pass keys and arguments
 * by name, and the descriptor alone says in which order they are sent. test/lua-headers.test.ts holds file and descriptor together.
 * SCRIPT-1 A script is sent again as a whole after an error that came before its first write (LOADING, READONLY, OOM, TRYAGAIN), and after a
 *     lost connection, until the caller's deadline: no script does harm when it runs twice (docs/protocol.md).
 */

import { createHash } from 'node:crypto'
import { performance } from 'node:perf_hooks'
import { setTimeout as pause } from 'node:timers/promises'
import { ConfigError, InvariantError, RuntimeError, TransientError } from '../../core/errors.ts'
import { loginAdvice } from '../redis/no-connection.ts'
import { type Redis, withDeadline } from '../redis/redis.ts'
import { encodeHeader, type HeaderValue } from './header.ts'
import { functionNameOf, scriptSource } from './script-source.ts'
import { type ScriptNames, ScriptTransport, type Words } from './script-transport.ts'

export type Argument = string | number

export interface ScriptDescriptor<
  Key extends string = string,
  Arg extends string = string,
  Field extends string = string,
> {
  readonly file: string
  readonly keys: readonly Key[]
  /** Fields of the JSON header, which is then the first argument. */
  readonly header?: readonly Field[]
  /** The fields of each list or object within the header, by its name. */
  readonly fields?: Readonly<Record<string, readonly string[]>>
  /** Behind the header, where there is one. The last of them may be a list. */
  readonly args: readonly Arg[]
}

export interface Script<Key extends string, Arg extends string, Field extends string>
  extends ScriptDescriptor<Key, Arg, Field>,
    ScriptNames {
  readonly header: readonly Field[]
}

export function defineScript<const Key extends string, const Arg extends string, const Field extends string = never>(
  descriptor: ScriptDescriptor<Key, Arg, Field>,
): Script<Key, Arg, Field> {
  const source = scriptSource(descriptor.file)
  const sha = createHash('sha1').update(source).digest('hex')
  return { header: [], ...descriptor, source, sha, functionName: functionNameOf(descriptor.file) }
}

/** Arguments by name: fields of the header, and what follows it. */
export type ScriptArguments<Arg extends string, Field extends string> = Readonly<
  Record<Field, HeaderValue | undefined>
> &
  Readonly<Record<Arg, Argument | readonly Argument[]>>

/** The reply of Redis; each store method decodes its own. */
export type Reply = (string | number | null | Reply)[]

export class ScriptCaller {
  readonly #transport: ScriptTransport

  constructor(redis: Redis) {
    this.#transport = new ScriptTransport(redis)
  }

  /**
   * Gives up after `deadlineMs`. The script may still run later: what a claim takes then, its slot is given with its next claim.
   */
  async call<Key extends string, Arg extends string, Field extends string>(
    script: Script<Key, Arg, Field>,
    keys: Readonly<Record<Key, string>>,
    args: ScriptArguments<Arg, Field>,
    { deadlineMs }: { readonly deadlineMs: number },
  ): Promise<Reply> {
    const words = wordsOf(script, keys, args)
    const give = performance.now() + deadlineMs
    let refusal: RuntimeError | undefined
    for (let attempt = 0, way = this.#transport.first; ; attempt++) {
      try {
        const answer = this.#transport.send(way, script, words)
        const reply = await withDeadline(answer, Math.max(1, give - performance.now()))
        const next = this.#transport.afterAnswer(way, words)
        if (next === null) return reply as Reply
        way = next
      } catch (thrown) {
        const other = this.#transport.afterError(way, messageOf(thrown), words)
        if (other !== null) {
          way = other
          continue
        }
        const error = storeError(thrown, script.file)
        const pauseMs = pauseAfter(attempt)
        if (error.code === 'store_refused') {
          refusal = error
          // A full or read-only Redis refuses a function as a whole; command by command, a call that was recorded before is answered.
          way = 'digest'
        }
        const isTooLate = performance.now() + pauseMs >= give || this.#transport.isOver
        if (!error.retryable || isTooLate) throw lastWord(refusal, error)
        await pause(pauseMs)
      }
    }
  }
}

function wordsOf<Key extends string, Arg extends string, Field extends string>(
  script: Script<Key, Arg, Field>,
  keys: Readonly<Record<Key, string>>,
  args: ScriptArguments<Arg, Field>,
): Words {
  const words: Words = ['', script.keys.length]
  for (const name of script.keys) words.push(keys[name])
  if (script.header.length > 0) words.push(encodeHeader(script.header.map((name) => [name, args[name]])))
  for (const name of script.args) {
    const value: Argument | readonly Argument[] = args[name]
    if (typeof value === 'object') {
      for (const item of value) words.push(item)
    } else {
      words.push(value)
    }
  }
  return words
}

function pauseAfter(attempt: number): number {
  return Math.min(20 * 2 ** attempt, 1_000) * (0.5 + Math.random() / 2)
}

/**
 * What was read within the deadline, or an error that says what was being done and what to do. A Redis that says "not now" is asked
 * again, and one whose connection ended between the answers to a pipeline, which ioredis does not send again: reading twice does no harm.
 */
export async function guarded<T>(doing: string, read: () => Promise<T>, deadlineMs: number): Promise<T> {
  const give = performance.now() + deadlineMs
  let refusal: RuntimeError | undefined
  for (let attempt = 0; ; attempt++) {
    try {
      return await withDeadline(read(), Math.max(1, give - performance.now()))
    } catch (thrown) {
      const error = storeError(thrown, doing)
      const pauseMs = pauseAfter(attempt)
      if (error.code === 'store_refused') refusal = error
      const isToRepeat = error === refusal || pipelineLost.test(messageOf(thrown))
      if (!isToRepeat || performance.now() + pauseMs >= give) throw lastWord(refusal, error)
      await pause(pauseMs)
    }
  }
}

/** The same object, with every method that returns a promise guarded. */
export function guardedReads<Store extends object>(store: Store, deadlineMs: number): Store {
  return new Proxy(store, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target)
      if (typeof member !== 'function') return member
      return (...args: unknown[]) => {
        const first: unknown = Reflect.apply(member, target, args)
        if (!(first instanceof Promise)) return first
        let isFirst = true
        const read = () => {
          if (!isFirst) return Reflect.apply(member, target, args) as Promise<unknown>
          isFirst = false
          return first
        }
        return guarded(`reading ${String(name)}`, read, deadlineMs)
      }
    },
  })
}

/** Errors that say "not now": nothing was written, the same call may succeed later. Redis 6.2 wraps those of a script. */
const refusedNow = /(?:^|: -)((OOM|READONLY|LOADING|TRYAGAIN|BUSY|MASTERDOWN|CLUSTERDOWN|MISCONF|NOREPLICAS)\b.*)/s
/** What a script says of something stored that it cannot work with, before its first write: behind the mark of lua/shared/checks.lua. */
const damage = /\bDAMAGED (.*?)(?= script: |$)/s
/** What Redis says to a user whom it does not know, or does not let do this. In a script it has no code for it before 7.0, and since 7.0 other words. */
const userRefused =
  /(?:^|: -)((?:NOAUTH|WRONGPASS|NOPERM)\b.*)|((?:The user executing the script can't|ACL failure in script:) .*)/s
/** What a Redis says whose configuration took a command away. Scripts do not say which. */
const commandMissing = /Unknown (?:Redis )?command called from \w+|\bunknown command [`']?\w+['`]?/i
/** What a server of a cluster says of keys that are at another. */
const keysElsewhere = /^(?:MOVED|ASK) .*/
const connectionLost =
  /ECONN|EPIPE|ENOTFOUND|ETIMEDOUT|Connection is closed|no answer within|max retries|aborted due to connection/i
const pipelineLost = /aborted due to connection/i

/** What a reader says of something stored that it cannot work with. */
export class StoredDamage extends Error {}

export function storeError(thrown: unknown, doing: string): RuntimeError {
  if (thrown instanceof RuntimeError) return thrown
  const message = messageOf(thrown)
  const what = doing.replace('.lua', '')
  const refused = refusedNow.exec(message)
  if (refused) {
    const [, why, code] = refused as unknown as [string, string, string]
    return new TransientError(`Redis refused (${what}: ${firstSentence(why)}). ${adviceFor(code)} ${nothingWritten}`, {
      code: 'store_refused',
      cause: thrown,
    })
  }
  const [, byCode, inScript] = userRefused.exec(message) ?? []
  const forbidden = byCode ?? inScript
  if (forbidden !== undefined) {
    // Without its cause, which holds the password where the login was refused.
    return new ConfigError(`Redis refused (${what}: ${firstSentence(forbidden)}); ${loginAdvice(forbidden)}`)
  }
  const unfit = unfitBy(message)
  if (unfit !== undefined)
    return new ConfigError(`Redis refused (${what}: ${unfit.why}); ${unfit.todo}`, { cause: thrown })
  if (connectionLost.test(message)) {
    return new TransientError(`Redis cannot be reached (${what}: ${firstSentence(message)}).`, {
      code: 'store_unavailable',
      cause: thrown,
    })
  }
  const damaged = thrown instanceof StoredDamage ? message : damage.exec(message)?.[1]
  if (damaged !== undefined) {
    return new InvariantError(
      `what is stored is not as it should be (${what}: ${damaged}). ${nothingWritten} Another program wrote it: put it back, or remove it.`,
      { cause: thrown, details: { damaged } },
    )
  }
  if (message.includes('WRONGTYPE')) return wrongSort(thrown, message, what)
  return new InvariantError(`the store failed (${what}: ${message}).`, { cause: thrown })
}

/** Why Redis takes no write now, and what to do; null where it says something else. */
export function refusalOf(thrown: unknown): { readonly why: string; readonly todo: string } | null {
  const [, why, code] = refusedNow.exec(messageOf(thrown)) ?? []
  return why === undefined || code === undefined ? null : { why: firstSentence(why), todo: adviceFor(code) }
}

/** Refusals that no other user and no waiting mends. */
function unfitBy(message: string): { why: string; todo: string } | undefined {
  const [missing] = commandMissing.exec(message) ?? []
  if (missing !== undefined) {
    return { why: missing, todo: 'its configuration takes that command away (rename-command): troupe needs it.' }
  }
  const [elsewhere] = keysElsewhere.exec(message) ?? []
  if (elsewhere === undefined) return undefined
  return {
    why: elsewhere,
    todo: 'it is one server of a cluster, for which there is no client yet: use a Redis without.',
  }
}

/** By the first letter of the command that reads it. */
const sorts: Readonly<Record<string, string>> = { h: 'hash', l: 'list', s: 'set', z: 'zset', x: 'stream', g: 'string' }

/** A key of another sort was read. Redis does not say which; the command does, where the error names it. */
function wrongSort(thrown: unknown, message: string, what: string): InvariantError {
  const { name = '', args = [] } = (thrown as { command?: { name?: string; args?: readonly unknown[] } }).command ?? {}
  const sort = sorts[name.charAt(0)]
  const damaged = sort === undefined ? firstSentence(message) : `key ${String(args[0])} should be a ${sort}`
  const advice = sort === undefined ? '`troupe audit` names it' : 'put it back, or remove it'
  return new InvariantError(
    `what is stored is not as it should be (${what}: ${damaged}). Another program wrote over a key: ${advice}.`,
    { cause: thrown, details: { damaged } },
  )
}

function messageOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

const nothingWritten = 'Nothing was written.'

/** If Redis refused, and did not answer the last attempt, the error says why it refused: the caller can do something about that. */
function lastWord(refusal: RuntimeError | undefined, last: RuntimeError): RuntimeError {
  if (last === refusal || refusal === undefined || !last.retryable) return last
  return new TransientError(refusal.message.replace(nothingWritten, 'Then it did not answer in time.'), {
    code: 'store_refused',
    cause: last,
  })
}

function firstSentence(message: string): string {
  return (message.split(/ script: \S+, on @/)[0] as string).replace(/\.\s*$/, '')
}

function adviceFor(code: string): string {
  switch (code) {
    case 'OOM':
      return 'It is full: raise maxmemory or prune sessions.'
    case 'READONLY':
      return 'It is a read-only replica: point TROUPE_REDIS_URL (redisUrl in code) at the primary.'
    case 'NOREPLICAS':
      return 'Too few of its replicas are connected (min-replicas-to-write): start them, or lower that.'
    case 'MISCONF':
      return 'It cannot save to disk: free some space, or see its log.'
    default:
      return 'Try again.'
  }
}
