/**
 * Duty: sends a script to Redis: as a function of the library, which Redis keeps with its closures made (bench/history.md). If Redis has no
 * functions (6.2), refuses them to this user, or has users (TRANSPORT-3), the script goes by its digest; if Redis does not know the digest, by its source.
 * TRANSPORT-1 All ways run the same text with the same keys and arguments. A call may begin in one way and be repeated in another.
 * TRANSPORT-2 Calls of one process keep their order. If a call has to be repeated in another way, so have the calls that were sent before
 *    its answer came. Later calls wait until it is answered; then they go on, the oldest first.
 * TRANSPORT-3 A user of an ACL sends no function: functions belong to the whole server, and another user of it could have loaded its own code under
 *    the name of our library, which would then run with our rights. A digest cannot be forged. The address may say otherwise
 *    (`?functions=yes`), or that not even the user "default" sends one (`?functions=no`).
 */
import { performance } from 'node:perf_hooks'
import type { Redis } from '../redis/redis.ts'
import { scriptLibrary } from './script-source.ts'

/** The names under which a script can be called. */
export interface ScriptNames {
  readonly functionName: string
  readonly sha: string
  readonly source: string
}

/** wait: for a call that is made again (TRANSPORT-2). loaded: as a function, once more, after the library was loaded. */
export type Way = 'wait' | 'function' | 'load' | 'loaded' | 'digest' | 'source'

/** The words of a command: first the script, then the number of keys, then keys and arguments. */
export type Words = [script: string, keyCount: number, ...(string | number | Buffer)[]]

/** A call that is being repeated, and how many calls wait behind it. A new call waits too, until all of these have gone on. */
interface Again extends PromiseWithResolvers<void> {
  readonly words: Words
  isAnswered: boolean
  waiting: number
}

/**
 * Whether this user may use functions, as the address says. If the address says nothing: the user `default` is taken for the owner of the server, and
 * any other user for one of several.
 */
function mayUseFunctions(redis: Redis): boolean {
  // Tests pass only parts of a connection. The client keeps unknown options of an address as they are.
  const { username, functions } =
    (redis.options as (Partial<Redis['options']> & { readonly functions?: string }) | undefined) ?? {}
  if (functions !== undefined) return functions === 'yes'
  return username === undefined || username === null || username === '' || username === 'default'
}

/** How long scripts go by their digests if Redis does not keep the library: it is not sent again with each call. */
const loadAgainMs = 1_000

export class ScriptTransport {
  readonly #redis: Redis
  #hasFunctions: boolean
  #withoutUntil = 0
  /** There is one load, however many calls find at the same moment that the library is missing. */
  #loading: Promise<void> | undefined
  #again: Again | undefined

  /** `hasFunctions`: by default as TRANSPORT-3 says. */
  constructor(redis: Redis, hasFunctions = mayUseFunctions(redis)) {
    this.#redis = redis
    this.#hasFunctions = hasFunctions
  }

  /** The owner of the connection has closed it: it never opens again. */
  get isOver(): boolean {
    return this.#redis.status === 'end'
  }

  get first(): Way {
    return this.#again === undefined ? this.#best : 'wait'
  }

  get #best(): Way {
    return this.#hasFunctions && performance.now() >= this.#withoutUntil ? 'function' : 'digest'
  }

  send(way: Way, script: ScriptNames, words: Words): Promise<unknown> {
    switch (way) {
      case 'wait':
        return this.#wait()
      case 'load':
        this.#loading ??= this.#load()
        return this.#loading
      case 'digest':
        words[0] = script.sha
        return this.#redis.evalsha(...words)
      case 'source':
        words[0] = script.source
        return this.#redis.eval(...words)
      case 'loaded':
      case 'function':
        words[0] = script.functionName
        return this.#redis.fcall(...words)
    }
  }

  /** The next way after an answer of this one; null: it was the answer of the script. */
  afterAnswer(way: Way, words: Words): Way | null {
    if (way === 'load') return 'loaded'
    if (way !== 'wait') {
      this.#goOn(words)
      return null
    }
    this.#leave()
    return this.#best
  }

  /** Which way to go at once when this one failed; null: the failure is not about the way. */
  afterError(way: Way, message: string, words: Words): Way | null {
    const other = this.#otherThan(way, message)
    if (way === 'wait') this.#leave()
    else if (other === null) this.#goOn(words)
    else this.#again ??= { words, isAnswered: false, waiting: 0, ...Promise.withResolvers() }
    return other
  }

  #otherThan(way: Way, message: string): Way | null {
    switch (way) {
      case 'function':
      case 'loaded':
        if (/^ERR function not found/i.test(message)) return way === 'function' ? 'load' : this.#withoutForNow()
        // Not every server, or proxy in front of one, uses the words of Redis.
        return /^(?:NOPERM|ERR)\b.*\bfcall\b/i.test(message) ? this.#withoutFunctions() : null
      case 'load':
        return /^(?:NOPERM|ERR)\b/.test(message) ? this.#withoutFunctions() : null
      case 'digest':
        return message.startsWith('NOSCRIPT') ? 'source' : null
      case 'source':
      case 'wait':
        return null
    }
  }

  #wait(): Promise<void> {
    const again = this.#again as Again
    again.waiting++
    return again.promise
  }

  #goOn(words: Words): void {
    const again = this.#again
    if (again?.words !== words) return
    again.isAnswered = true
    again.resolve()
    this.#endWaiting(again)
  }

  #leave(): void {
    const again = this.#again as Again
    again.waiting--
    this.#endWaiting(again)
  }

  #endWaiting({ isAnswered, waiting }: Again): void {
    if (isAnswered && waiting === 0) this.#again = undefined
  }

  /** Redis takes no library, lost it again at once, or has another one of this name. */
  #withoutForNow(): Way {
    this.#withoutUntil = performance.now() + loadAgainMs
    return 'digest'
  }

  #withoutFunctions(): Way {
    this.#hasFunctions = false
    return 'digest'
  }

  async #load(): Promise<void> {
    try {
      await this.#redis.function('LOAD', scriptLibrary.text)
    } catch (error) {
      // Another process loaded the library first.
      if (String(error).includes('already exists')) return
      this.#withoutForNow()
      throw error
    } finally {
      this.#loading = undefined
    }
  }
}
