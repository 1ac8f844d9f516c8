/**
 * The connection that the stores of a test use: a real one that remembers the last script it sent, with its arguments and answer,
 * so that a test can send exactly the same again; and that can run a changed script in place of the one it was asked for.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import { createHash } from 'node:crypto'
import { openRedis, type Redis } from '../../../src/store/redis/redis.ts'
import type { Reply } from '../../../src/store/script/script.ts'
import * as scripts from '../../../src/store/script/scripts.ts'

export interface Sent {
  readonly sha: string
  readonly keyCount: number
  readonly flat: readonly (string | number)[]
  readonly reply: Reply
}

const all = Object.values(scripts)

function shaOf(name: string): string {
  return found(all.find(({ functionName }) => functionName === name)).sha
}

export function functionOf(sha: string): string {
  return found(all.find((script) => script.sha === sha)).functionName
}

function found<Item>(item: Item | undefined): Item {
  if (item === undefined) throw new Error('No script of troupe.')
  return item
}

export class Wire {
  readonly redis: Redis
  /** What the tests hand to the stores. */
  readonly face: Redis
  readonly #hasFunctions: boolean
  readonly #instead = new Map<string, string>()
  readonly #watched = new AsyncLocalStorage<{ sent?: Sent }>()
  /** How many scripts were asked for, whatever the answer. */
  sent = 0
  #last: Sent | undefined
  #afterNext: (() => Promise<void>) | undefined

  /** Without functions it refuses them as Redis 6.2 does. */
  constructor(url: string, hasFunctions: boolean) {
    this.#hasFunctions = hasFunctions
    this.redis = openRedis(url)
    const own: Readonly<Record<string, unknown>> = {
      fcall: this.#fcall.bind(this),
      evalsha: this.#evalsha.bind(this),
      eval: this.#eval.bind(this),
    }
    this.face = new Proxy(this.redis, {
      get(target, name) {
        if (typeof name === 'string' && Object.hasOwn(own, name)) return own[name]
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

  /** Sends a script that was sent before once more, in the same way or another, and gives the raw answer. */
  again(
    { sha, keyCount, flat }: Sent = this.last,
    way: 'function' | 'digest' = this.#hasFunctions ? 'function' : 'digest',
  ): Promise<Reply> {
    return way === 'function'
      ? this.#runFunction(functionOf(sha), keyCount, flat)
      : this.#runDigest(sha, keyCount, flat)
  }

  async #fcall(name: string, keyCount: number, ...flat: (string | number)[]): Promise<Reply> {
    if (!this.#hasFunctions) throw new Error(`ERR unknown command 'fcall', with args beginning with: '${name}' `)
    this.sent++
    const reply = await this.#runFunction(name, keyCount, flat)
    return this.#noted({ sha: shaOf(name), keyCount, flat, reply })
  }

  async #evalsha(sha: string, keyCount: number, ...flat: (string | number)[]): Promise<Reply> {
    this.sent++
    return this.#noted({ sha, keyCount, flat, reply: await this.#runDigest(sha, keyCount, flat) })
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

  async #runFunction(name: string, keyCount: number, flat: readonly (string | number)[]): Promise<Reply> {
    const sha = shaOf(name)
    if (this.#instead.has(sha)) return this.#runDigest(sha, keyCount, flat)
    return (await this.redis.fcall(name, keyCount, ...flat)) as Reply
  }

  async #runDigest(sha: string, keyCount: number, flat: readonly (string | number)[]): Promise<Reply> {
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
