/**
 * Duty: the history of a hand-written agent that owes its users what troupe owes them. Beside the messages, as one JSON value:
 * KEPT-1 A job that BullMQ gave to another worker cannot write any more: each write compares the token of the run.
 * KEPT-2 Each step asks whether the run was cancelled.
 * KEPT-3 Each message is an event, in a stream of bounded length and to whoever follows the run.
 * KEPT-4 What a run used is counted by the hour, and runs are listed by when they began and when they ended.
 * Whoever writes has the token, so the history is read once for each job.
 */
import { randomUUID } from 'node:crypto'
import { Redis } from 'ioredis'
import type { AgentMessage } from '../agent-script.ts'
import type { History } from './history.ts'

/** KEYS: run, history, list of runs in progress. ARGV: token, run id, time. Returns the history, or nothing. */
const beginScript = `
redis.call('HSET', KEYS[1], 'token', ARGV[1], 'status', 'running')
redis.call('ZADD', KEYS[3], 'NX', ARGV[3], ARGV[2])
return redis.call('GET', KEYS[2])`

/** KEYS: run, history, stream, usage, list in progress, list of ended ones. ARGV: token, run id, history, message, hour, bytes, channel, time of the end or nothing. */
const appendScript = `
local run = redis.call('HMGET', KEYS[1], 'token', 'cancelled')
if run[1] ~= ARGV[1] then return 'taken over' end
if run[2] then return 'cancelled' end
redis.call('SET', KEYS[2], ARGV[3])
redis.call('XADD', KEYS[3], 'MAXLEN', '~', '10000', '*', 'run', ARGV[2], 'message', ARGV[4])
redis.call('PUBLISH', ARGV[7], ARGV[4])
redis.call('HINCRBY', KEYS[4], ARGV[5], ARGV[6])
if ARGV[8] ~= '' then
  redis.call('HSET', KEYS[1], 'status', 'completed', 'endedAt', ARGV[8])
  redis.call('ZREM', KEYS[5], ARGV[2])
  redis.call('ZADD', KEYS[6], ARGV[8], ARGV[2])
end
return 'ok'`

interface KeptRunScripts {
  beginRun(...words: string[]): Promise<string | null>
  appendToRun(...words: string[]): Promise<string>
}
export type KeptRunRedis = Redis & KeptRunScripts

/** A connection that knows the two scripts. */
export function keptRunConnection(redisUrl: string): KeptRunRedis {
  return new Redis(redisUrl, {
    maxRetriesPerRequest: null,
    scripts: {
      beginRun: { lua: beginScript, numberOfKeys: 3 },
      appendToRun: { lua: appendScript, numberOfKeys: 6 },
    },
  }) as KeptRunRedis
}

const hourMs = 3_600_000

export class KeptRun implements History {
  readonly #redis: KeptRunRedis
  readonly #namespace: string
  readonly #runId: string
  readonly #token = randomUUID()
  #messages: AgentMessage[] = []

  private constructor(redis: KeptRunRedis, namespace: string, runId: string) {
    this.#redis = redis
    this.#namespace = namespace
    this.#runId = runId
  }

  /** From now on only the returned object can write; one from before is refused. */
  static async begin(redis: KeptRunRedis, namespace: string, runId: string): Promise<KeptRun> {
    const run = new KeptRun(redis, namespace, runId)
    const keys = [run.#key('run'), run.#key('history'), `${namespace}:running`]
    const json = await redis.beginRun(...keys, run.#token, runId, String(Date.now()))
    if (json !== null) run.#messages = JSON.parse(json) as AgentMessage[]
    return run
  }

  get messages(): readonly AgentMessage[] {
    return this.#messages
  }

  async append(message: AgentMessage, endsRun?: 'endsRun'): Promise<void> {
    this.#messages.push(message)
    const now = Date.now()
    const text = JSON.stringify(message)
    const answer = await this.#redis.appendToRun(
      this.#key('run'),
      this.#key('history'),
      `${this.#namespace}:events`,
      `${this.#namespace}:usage`,
      `${this.#namespace}:running`,
      `${this.#namespace}:ended`,
      this.#token,
      this.#runId,
      JSON.stringify(this.#messages),
      text,
      String(now - (now % hourMs)),
      String(text.length),
      this.#key('channel'),
      endsRun ? String(now) : '',
    )
    if (answer !== 'ok') throw new Error(`The run ${this.#runId} is ${answer}.`)
  }

  #key(part: string): string {
    return `${this.#namespace}:${part}:${this.#runId}`
  }
}
