/**
 * Duty: how a script is asked for: as a function of the library, which Redis keeps with its closures made (decision 0021); where Redis has
 * no functions (6.2), or does not let this user have them, by its digest, and by its source where the digest is not known there.
 * W-a All ways run the same text with the same keys and arguments, so a call may begin in one way and be made again in another.
 * W-b Who calls while the library is loaded waits behind those that found it missing: calls of one process keep their order.
 */
import { performance } from 'node:perf_hooks'
import type { Redis } from './redis.ts'
import { scriptLibrary } from './script-source.ts'

/** What a script is called by, in one way or another. */
export interface ScriptNames {
  readonly functionName: string
  readonly sha: string
  readonly source: string
}

/** loaded: as a function, once more, after the library was loaded. */
export type Way = 'function' | 'load' | 'loaded' | 'digest' | 'source'

/** Room for the name of the script, the count of keys, then keys and arguments. */
export type Words = [script: string, keyCount: number, ...(string | number)[]]

/** A Redis without a library that it takes and keeps is not sent all of it with each call. */
const loadAgainMs = 1_000

export class ScriptWays {
  readonly #redis: Redis
  #hasFunctions = true
  #withoutUntil = 0
  /** Once, however many calls find at the same moment that it is missing; until the first of them is made again. */
  #loading: Promise<void> | undefined

  constructor(redis: Redis) {
    this.#redis = redis
  }

  get first(): Way {
    if (!this.#hasFunctions || performance.now() < this.#withoutUntil) return 'digest'
    return this.#loading === undefined ? 'function' : 'load'
  }

  send(way: Way, script: ScriptNames, words: Words): Promise<unknown> {
    switch (way) {
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
        // Who waited longest is the first to go on.
        this.#loading = undefined
        return this.#callFunction(script, words)
      case 'function':
        return this.#callFunction(script, words)
    }
  }

  /** Which way to go at once when this one failed; null: the failure is not about the way. */
  after(way: Way, message: string): Way | null {
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
        return null
    }
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

  #callFunction(script: ScriptNames, words: Words): Promise<unknown> {
    words[0] = script.functionName
    return this.#redis.fcall(...words)
  }

  async #load(): Promise<void> {
    try {
      await this.#redis.function('LOAD', scriptLibrary.text)
    } catch (error) {
      // Somebody else was faster.
      if (String(error).includes('already exists')) return
      this.#loading = undefined
      this.#withoutForNow()
      throw error
    }
  }
}
