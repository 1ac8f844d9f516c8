/**
 * The connection that the stores of a test use: a real one that remembers the last script it sent, with its arguments and answer,
 * so that a test can send exactly the same again; and that can run a changed script in place of the one it was asked for.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash } from 'node:crypto'
import { openRedis, type Redis } from '../../../src/store/redis.ts'
import type { Reply } from '../../../src/store/script.ts'

export interface Sent {
  readonly sha: string
  readonly keyCount: number
  readonly flat: readonly (string | number)[]
  readonly reply: Reply
}

export class Wire {
  readonly redis: Redis
  /** What the stores are given. */
  readonly face: Redis
  readonly #instead = new Map<string, string>()
  readonly #watched = new AsyncLocalStorage<{ sent?: Sent }>()
  /** How many scripts were asked for, whatever the answer. */
  sent = 0
  #last: Sent | undefined
  #afterNext: (() => Promise<void>) | undefined

  constructor(url: string) {
    this.redis = openRedis(url)
    const evalsha = this.#evalsha.bind(this)
    const evaluate = this.#eval.bind(this)
    this.face = new Proxy(this.redis, {
      get(target, name) {
        if (name === 'evalsha') return evalsha
        if (name === 'eval') return evaluate
        const value: unknown = Reflect.get(target, name, target)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
  }

  /** From now on this source runs where the script of this digest is asked for. */
  replace(sha: string, source: string): void {
    this.#instead.set(sha, source)
  }

  /** Does this when the next script has been answered, before its caller hears of it. */
  afterNext(act: () => Promise<void>): void {
    this.#afterNext = act
  }

  /** The last script that was sent. */
  get last(): Sent {
    if (!this.#last) throw new Error('No script was sent yet.')
    return this.#last
  }

  /** Makes a call; its answer, and the last script that it sent itself, whatever others send meanwhile. */
  async watch<Answer>(call: () => Promise<Answer>): Promise<{ answer: Answer; sent: Sent | undefined }> {
    const seen: { sent?: Sent } = {}
    const answer = await this.#watched.run(seen, call)
    return { answer, sent: seen.sent }
  }

  /** Sends a script that was sent before once more, and gives the raw answer. */
  again(sent: Sent = this.last): Promise<Reply> {
    return this.#run(sent.sha, sent.keyCount, ...sent.flat)
  }

  async #evalsha(sha: string, keyCount: number, ...flat: (string | number)[]): Promise<Reply> {
    this.sent++
    return this.#noted({ sha, keyCount, flat, reply: await this.#run(sha, keyCount, ...flat) })
  }

  async #eval(source: string, keyCount: number, ...flat: (string | number)[]): Promise<Reply> {
    const reply = (await this.redis.eval(source, keyCount, ...flat)) as Reply
    return this.#noted({ sha: digest(source), keyCount, flat, reply })
  }

  async #noted(sent: Sent): Promise<Reply> {
    this.#last = sent
    const watched = this.#watched.getStore()
    if (watched) watched.sent = sent
    const act = this.#afterNext
    this.#afterNext = undefined
    await act?.()
    return sent.reply
  }

  async #run(sha: string, keyCount: number, ...flat: (string | number)[]): Promise<Reply> {
    const source = this.#instead.get(sha)
    if (source === undefined) return (await this.redis.evalsha(sha, keyCount, ...flat)) as Reply
    try {
      return (await this.redis.evalsha(digest(source), keyCount, ...flat)) as Reply
    } catch (error) {
      if (!String(error).includes('NOSCRIPT')) throw error
      return (await this.redis.eval(source, keyCount, ...flat)) as Reply
    }
  }
}

function digest(source: string): string {
  return createHash('sha1').update(source).digest('hex')
}
