/**
 * A partition of one test, with nodes and clients by hand: the stores are real, the Redis is real, nothing runs by itself.
 * `changed(call)` tells what a call changed in all keys of the namespace.
 */
import type { Redis } from 'ioredis'
import { inject } from 'vitest'
import { childId, digestKey, newId, rootIdOf } from '../../../src/core/ids.ts'
import { defaultSessionLimits, type Policy, policy, type SessionLimits } from '../../../src/core/policy.ts'
import type { SpawnOrder } from '../../../src/core/ports/ports.ts'
import { encodeInput } from '../../../src/core/worker/message/message.ts'
import type { SendTime } from '../../../src/core/worker/message/steer.ts'
import { InspectStore } from '../../../src/store/audit/inspect-store.ts'
import { type PartitionKeys, partitionKeys, sessionKeys, tagOf, workerKeys } from '../../../src/store/keys.ts'
import { LetterStore } from '../../../src/store/person/letter-store.ts'
import { openRedis } from '../../../src/store/redis/redis.ts'
import { ScriptCaller } from '../../../src/store/script/script.ts'
import type { CreateAnswer, SessionOrder } from '../../../src/store/session/create-sessions.ts'
import type { PostAnswer } from '../../../src/store/session/post-answer.ts'
import { SessionStore } from '../../../src/store/session/session-store.ts'
import { newNamespace } from '../../support/namespace.ts'
import { changes, clockOf, type Dump, dumpKeys, keysOf, Words } from './dump.ts'
import { HandNode, type HandNodeOptions } from './hand-node.ts'
import { sessionView, workerView } from './views.ts'
import { Wire } from './wire.ts'

/** Long times, told apart at a glance in a dump. */
const testPolicy: Policy = { ...policy, leaseMs: 60_000, wakeupMs: 20_000, nodeForgottenMs: 300_000 }

export interface PlaceOptions {
  readonly policy?: Partial<Policy>
  readonly redisUrl?: string
  /** How the stores reach Redis, when that is not the way the test looks at it. */
  readonly wireUrl?: string
  /** false: as with Redis 6.2, which has no functions. Absent: as it is. */
  readonly hasFunctions?: boolean
  /** The deadline of calls from outside a turn; calls of nodes may take a lease. */
  readonly deadlineMs?: number
  /** Its scripts are called as in a cluster. */
  readonly isInCluster?: boolean
  /** The namespace of another place, whose keys are looked at; they stay. */
  readonly namespace?: string
  /** Default: 0, the first one. */
  readonly partition?: number
  /** That of another place; it stays open. */
  readonly wire?: Wire
}

export interface CreateOptions {
  /** The session is called `<label>`, its root `<label.root>`. */
  readonly label?: string
  /** The client in the id of the session. */
  readonly creator?: string
  readonly kind?: string
  readonly pool?: string
  readonly mode?: 'job' | 'conversation'
  readonly limits?: Partial<SessionLimits>
  /** The permissions as the record has them. */
  readonly permissions?: string
  readonly approval?: string
  readonly turnShare?: string
  readonly key?: string
  readonly input?: unknown
  /** The entries with which its history begins. */
  readonly history?: readonly string[]
  /** True: it has no first message. */
  readonly rests?: boolean
}

export interface MadeSession {
  readonly id: string
  readonly root: string
  readonly wakeups: readonly string[]
}

export class Place implements AsyncDisposable {
  readonly namespace: string
  readonly partition: number
  readonly redisUrl: string
  readonly redis: Redis
  readonly wire: Wire
  readonly keys: PartitionKeys
  readonly policy: Policy
  /** The deadline of calls from outside a turn. */
  readonly deadlineMs: number
  readonly caller: ScriptCaller
  readonly sessions: SessionStore
  readonly inspect: InspectStore
  readonly letters: LetterStore
  readonly #words: Words
  readonly #isGuest: boolean
  #nonces = 0

  private constructor(namespace: string, options: PlaceOptions) {
    this.namespace = namespace
    this.partition = options.partition ?? 0
    this.#isGuest = options.namespace !== undefined
    const redisUrl = options.redisUrl ?? inject('redisUrl')
    this.redisUrl = redisUrl
    this.wire = options.wire ?? new Wire(options.wireUrl ?? redisUrl, options.hasFunctions ?? inject('hasFunctions'))
    this.redis = options.wireUrl ? openRedis(redisUrl) : this.wire.redis
    this.keys = partitionKeys(tagOf(namespace, this.partition))
    this.policy = { ...testPolicy, ...options.policy }
    this.deadlineMs = options.deadlineMs ?? 20_000
    this.caller = new ScriptCaller(this.wire.face, undefined, undefined, options.isInCluster)
    this.sessions = new SessionStore(
      this.wire.face,
      this.caller,
      this.keys,
      this.partition,
      this.policy,
      this.deadlineMs,
    )
    const first = { redis: this.redis, keys: partitionKeys(tagOf(namespace, 0)) }
    this.inspect = new InspectStore(this.redis, this.keys, this.partition, first)
    this.letters = new LetterStore(this.redis, this.keys)
    this.#words = new Words(this.keys.tag)
  }

  static async open(options: PlaceOptions = {}): Promise<Place> {
    const place = new Place(options.namespace ?? newNamespace(), options)
    place.#words.since = await clockOf(place.redis)
    return place
  }

  /** Another partition of the namespace, over the same connection: it ends with this one. */
  beside(partition: number): Place {
    const { namespace, redisUrl, wire, policy } = this
    const place = new Place(namespace, { namespace, redisUrl, wire, policy, partition })
    place.#words.since = this.#words.since
    return place
  }

  /** In dumps, this text becomes `<label>`. */
  label(text: string, label: string): string {
    this.#words.label(text, label)
    return text
  }

  /** The label of an id, if it has one. */
  words(text: string): string {
    return this.#words.text(text, 0)
  }

  nonce(): string {
    this.#nonces++
    return `${this.#nonces.toString(36)}.n`
  }

  node(options: HandNodeOptions = {}): HandNode {
    return new HandNode(this, options)
  }

  async create(options: CreateOptions = {}): Promise<MadeSession> {
    return madeBy(await this.sessions.create(this.#order(options)))
  }

  /** Creates all in few scripts; the test fails if one of them is not created. */
  async createMany(all: readonly CreateOptions[]): Promise<MadeSession[]> {
    const results = await this.sessions.createMany(all.map((options) => this.#order(options)))
    return results.map((result) => {
      if (result.status === 'rejected') throw result.reason
      return madeBy(result.value)
    })
  }

  #order(options: CreateOptions): SessionOrder {
    const { label = 'one', key } = options
    const sessionId = this.label(newId(this.partition, options.creator), label)
    this.label(rootIdOf(sessionId), `${label}.root`)
    return {
      sessionId,
      kind: options.kind ?? 'echo',
      name: label,
      pool: options.pool ?? 'default',
      mode: options.mode ?? 'job',
      mail: options.rests ? null : encodeInput(null, JSON.stringify(options.input ?? 'first')),
      history: options.history,
      keyDigest: key === undefined ? null : this.label(digestKey(key, 'session'), key),
      limits: { ...defaultSessionLimits, ...options.limits },
      permissions: options.permissions,
      approval: options.approval,
      turnShare: options.turnShare,
      event: '[["session.created"]]',
    }
  }

  /** Posts a message from outside, under this idempotency key of a caller, or under a key that is made of the text. */
  post(workerId: string, text: string, given?: string, when?: SendTime): Promise<PostAnswer> {
    const key = given ?? text
    const mail = encodeInput(null, JSON.stringify(text))
    const digest = this.label(digestKey(`${this.namespace}/${key}`, 'message'), `key ${key}`)
    const event = '[["message.accepted",{"kind":"input"}]]'
    return this.sessions.post(workerId, mail, { digest, isGiven: given !== undefined, ...(when && { when }) }, event)
  }

  /** The order for a child; it is called `<label>`. */
  child(parentId: string, call: number, label: string, more: Partial<SpawnOrder> & { run?: number } = {}): SpawnOrder {
    const { run = 1, ...order } = more
    return {
      id: this.label(childId(parentId, run, call), label),
      kind: 'echo',
      name: label,
      pool: 'default',
      detached: false,
      call,
      mail: encodeInput(parentId, `"for ${label}"`),
      ...order,
    }
  }

  dump(): Promise<Dump> {
    return dumpKeys(this.redis, this.namespace, this.#words)
  }

  async changed(call: () => Promise<unknown>): Promise<Dump> {
    const before = await this.dump()
    await call()
    return changes(before, await this.dump())
  }

  async now(): Promise<number> {
    return this.inspect.now()
  }

  async record(workerId: string): Promise<Record<string, string>> {
    return workerView(workerId, await this.redis.hgetall(workerKeys(this.keys.tag, workerId).record))
  }

  async session(sessionId: string): Promise<Record<string, string>> {
    const { record } = this.workerKeys(rootIdOf(sessionId))
    const { runResults: results } = this.sessionKeys(sessionId)
    return sessionView(sessionId, await this.redis.hgetall(record), await this.redis.hgetall(results))
  }

  workerKeys(workerId: string): ReturnType<typeof workerKeys> {
    return workerKeys(this.keys.tag, workerId)
  }

  sessionKeys(sessionId: string): ReturnType<typeof sessionKeys> {
    return sessionKeys(this.keys.tag, sessionId)
  }

  /** The lease of this worker ended a while ago. */
  async expireLease(workerId: string): Promise<void> {
    await this.redis.zadd(this.keys.leases, 'XX', (await this.now()) - 1, workerId)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const keys = this.#isGuest ? [] : await keysOf(this.redis, this.namespace)
    if (keys.length > 0) await this.redis.unlink(...keys)
    this.redis.disconnect()
    this.wire.redis.disconnect()
  }
}

function madeBy({ sessionId, workerId, wakeups }: CreateAnswer): MadeSession {
  return { id: sessionId, root: workerId, wakeups: wakeups.map((wakeup) => wakeup.id) }
}
