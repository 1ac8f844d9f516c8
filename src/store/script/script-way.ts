/**
 * Duty: how a script is asked for: as a function of the library, which Redis keeps with its closures made (bench/history.md); where Redis has
 * no functions (6.2), or does not let this user have them, by its digest, and by its source where the digest is not known there.
 * W-a All ways run the same text with the same keys and arguments, so a call may begin in one way and be made again in another.
 * W-b Where a call has to be made again in another way, so have those that were made before its answer came: who calls meanwhile waits
 *     until it is answered, when the others are under way again, and who waited longest goes on first. So calls of one process keep their
 *     order.
 */
import { performance } from 'node:perf_hooks'
import type { Redis } from '../redis/redis.ts'
import { scriptLibrary } from './script-source.ts'

/** What a script is called by, in one way or another. */
export interface ScriptNames {
  readonly functionName: string
  readonly sha: string
  readonly source: string
}

/** wait: for a call that is made again (W-b). loaded: as a function, once more, after the library was loaded. */
export type Way = 'wait' | 'function' | 'load' | 'loaded' | 'digest' | 'source'

/** Room for the name of the script, the count of keys, then keys and arguments. */
export type Words = [script: string, keyCount: number, ...(string | number)[]]

/** A call that is made again, and how many wait behind it: until all of these have gone on, who calls waits behind them. */
interface Again extends PromiseWithResolvers<void> {
  readonly words: Words
  isAnswered: boolean
  waiting: number
}

/** A Redis without a library that it takes and keeps is not sent all of it with each call. */
const loadAgainMs = 1_000

export class ScriptWays {
  readonly #redis: Redis
  #hasFunctions = true
  #withoutUntil = 0
  /** Once, however many calls find at the same moment that it is missing. */
  #loading: Promise<void> | undefined
  #again: Again | undefined

  constructor(redis: Redis) {
    this.#redis = redis
  }

  /** Whoever opened the connection has closed it: it never opens again. */
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

  /** Which way to go on when this one was answered; null: that was the answer of the script. */
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
        // Not every server, or proxy before one, says it in the words of Redis.
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

  /** It takes no library, lost it again at once, or has another of this name. */
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
      // Somebody else was faster.
      if (String(error).includes('already exists')) return
      this.#withoutForNow()
      throw error
    } finally {
      this.#loading = undefined
    }
  }
}
