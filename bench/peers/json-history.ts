/**
 * Duty: the history of a hand-written agent: all messages of a run as one JSON value under one key, rewritten as a whole with
 * each message. It is what most applications do, because every model API takes and gives the history as one array.
 */
import type { Redis } from 'ioredis'
import type { AgentMessage } from '../agent-script.ts'

export class JsonHistory {
  readonly #redis: Redis
  readonly #key: string
  readonly #messages: AgentMessage[]

  private constructor(redis: Redis, key: string, messages: AgentMessage[]) {
    this.#redis = redis
    this.#key = key
    this.#messages = messages
  }

  /** Once per job, not per message: the lock of the job is trusted to keep other writers away. */
  static async read(redis: Redis, key: string): Promise<JsonHistory> {
    const json = await redis.get(key)
    return new JsonHistory(redis, key, json === null ? [] : (JSON.parse(json) as AgentMessage[]))
  }

  get messages(): readonly AgentMessage[] {
    return this.#messages
  }

  /** Resolves once Redis has it. */
  async append(message: AgentMessage): Promise<void> {
    this.#messages.push(message)
    await this.#redis.set(this.#key, JSON.stringify(this.#messages))
  }
}
