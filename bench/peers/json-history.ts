/**
 * Duty: the history of a hand-written agent: all messages of a run as one JSON value under one key, read and rewritten as a whole
 * with each message. Most applications do that, because every model API takes and returns the history as one array.
 */
import type { Redis } from 'ioredis'
import type { AgentMessage } from '../agent-script.ts'
import type { History } from './history.ts'

export class JsonHistory implements History {
  readonly #redis: Redis
  readonly #key: string
  readonly #trusted: boolean
  #messages: AgentMessage[] = []

  private constructor(redis: Redis, key: string, trusted: boolean) {
    this.#redis = redis
    this.#key = key
    this.#trusted = trusted
  }

  /** `trusted`: the history is read once per job, because the job's lock keeps other writers away; else before each message. */
  static async read(redis: Redis, key: string, trusted = false): Promise<JsonHistory> {
    const history = new JsonHistory(redis, key, trusted)
    await history.#load()
    return history
  }

  get messages(): readonly AgentMessage[] {
    return this.#messages
  }

  /** Resolves once Redis has the message. */
  async append(message: AgentMessage): Promise<void> {
    if (!this.#trusted && this.#messages.length > 0) await this.#load()
    this.#messages.push(message)
    await this.#redis.set(this.#key, JSON.stringify(this.#messages))
  }

  async #load(): Promise<void> {
    const json = await this.#redis.get(this.#key)
    this.#messages = json === null ? [] : (JSON.parse(json) as AgentMessage[])
  }
}
