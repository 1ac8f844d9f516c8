/**
 * Duty: how a script is asked for: as a function of the library, which Redis keeps with its closures made (decision 0021); where Redis has
 * no functions (6.2), or does not let this user have them, by its digest, and by its source where the digest is not known there.
 * W-a All ways run the same text with the same keys and arguments, so a call may begin in one way and be made again in another.
 */
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

export class ScriptWays {
  readonly #redis: Redis
  #hasFunctions = true
  #loading: Promise<unknown> | undefined

  constructor(redis: Redis) {
    this.#redis = redis
  }

  get first(): Way {
    return this.#hasFunctions ? 'function' : 'digest'
  }

  send(way: Way, script: ScriptNames, words: Words): Promise<unknown> {
    switch (way) {
      case 'load':
        return this.#load()
      case 'digest':
        words[0] = script.sha
        return this.#redis.evalsha(...words)
      case 'source':
        words[0] = script.source
        return this.#redis.eval(...words)
      default:
        words[0] = script.functionName
        return this.#redis.fcall(...words)
    }
  }

  /** Which way to go at once when this one failed; null: the failure is not about the way. */
  after(way: Way, message: string): Way | null {
    switch (way) {
      case 'function':
      case 'loaded':
        if (/^ERR function not found/i.test(message)) return way === 'function' ? 'load' : this.#withoutFunctions()
        return /^(?:NOPERM|ERR unknown command)\b.*\bfcall\b/i.test(message) ? this.#withoutFunctions() : null
      case 'load':
        // Somebody else was faster.
        if (message.includes('already exists')) return 'loaded'
        return /^(?:NOPERM|ERR)\b/.test(message) ? this.#withoutFunctions() : null
      case 'digest':
        return message.startsWith('NOSCRIPT') ? 'source' : null
      case 'source':
        return null
    }
  }

  #withoutFunctions(): Way {
    this.#hasFunctions = false
    return 'digest'
  }

  /** Once, however many calls find at the same moment that it is missing. */
  #load(): Promise<unknown> {
    this.#loading ??= this.#redis.function('LOAD', scriptLibrary.text).finally(() => {
      this.#loading = undefined
    })
    return this.#loading
  }
}
