/**
 * Duty: the sessions that a process creates in one partition. Those of one moment, under no key of their caller, go together, in one script.
 * P1 Each is answered as if it had been sent alone: where a script meets an error, they are sent again one by one, and say so themselves.
 * P2 None waits for others: a moment is what the event loop does before it looks for more.
 */
import { performance } from 'node:perf_hooks'
import { RuntimeError } from '../core/errors.ts'
import { digestAsked, rootIdOf } from '../core/ids.ts'
import {
  defaultSpending,
  defaultWorkerLimits,
  encodeLimits,
  encodeSpending,
  type Policy,
  type SessionLimits,
} from '../core/policy.ts'
import type { Wakeup } from '../core/ports/ports.ts'
import { type PartitionKeys, spawnKeys } from './keys.ts'
import { Batcher, bytesOf } from './script/batcher.ts'
import type { ScriptCaller } from './script/script.ts'
import { spawnScript, spawnsScript } from './script/scripts.ts'
import { newSeed, parseWakeups } from './wakeups.ts'

export interface SpawnSession {
  readonly sessionId: string
  readonly kind: string
  readonly name: string
  readonly pool: string
  readonly mode: 'job' | 'conversation'
  readonly mail: string
  /** Digest of a key the caller gave; the ids of a session are its own key otherwise. */
  readonly keyDigest: string | null
  readonly limits: SessionLimits
  /** As `encodePermissions` writes it; empty or absent: nothing is restricted. */
  readonly permissions?: string | undefined
  readonly event: string
}

/** again: what its key began is there; other: its key began something else. Then the answer is that of the first. */
export interface SpawnAnswer {
  readonly kind: 'ok' | 'again' | 'other'
  readonly sessionId: string
  readonly workerId: string
  readonly wakeups: readonly Wakeup[]
}

interface Waiting {
  readonly order: SpawnSession
  readonly facts: readonly string[]
  /** All of it in `spawns`. */
  readonly words: readonly string[]
  readonly bytes: number
  readonly answer: PromiseWithResolvers<SpawnAnswer>
}

const startLimits = encodeLimits(defaultWorkerLimits)
const startCaps = encodeSpending(defaultSpending)

export class Spawns {
  readonly #caller: ScriptCaller
  readonly #keys: PartitionKeys
  readonly #policy: Policy
  readonly #deadlineMs: number
  readonly #gathering = new Batcher<Waiting>(
    (some) => this.#send(some),
    (leave) => process.nextTick(leave),
  )

  constructor(caller: ScriptCaller, keys: PartitionKeys, policy: Policy, deadlineMs: number) {
    this.#caller = caller
    this.#keys = keys
    this.#policy = policy
    this.#deadlineMs = deadlineMs
  }

  spawn(order: SpawnSession): Promise<SpawnAnswer> {
    const facts = this.#factsOf(order)
    if (order.keyDigest !== null) return this.#spawnAlone(order, facts, this.#deadlineMs)
    const answer = Promise.withResolvers<SpawnAnswer>()
    const words = wordsOf(order, facts)
    this.#gathering.add({ order, facts, words, bytes: bytesOf(words), answer })
    return answer.promise
  }

  #send(some: readonly Waiting[]): void {
    const [first] = some as [Waiting]
    if (some.length > 1) void this.#spawnTogether(some)
    else first.answer.resolve(this.#spawnAlone(first.order, first.facts, this.#deadlineMs))
  }

  async #spawnTogether(some: readonly Waiting[]): Promise<void> {
    const give = performance.now() + this.#deadlineMs
    const { sessions, events } = this.#keys
    const args = { wakeupMs: this.#policy.wakeupMs, seed: newSeed(), orders: some.flatMap(({ words }) => words) }
    try {
      const options = { deadlineMs: this.#deadlineMs }
      const [, wakeups] = await this.#caller.call(spawnsScript, { sessions, events }, args, options)
      // Who is answered none may ring one of its own: those of a pool go to the first session of that pool.
      const byPool = Map.groupBy(parseWakeups(wakeups), ({ pool }) => pool)
      for (const { order, answer } of some) {
        const { sessionId, pool } = order
        const own = byPool.get(pool) ?? none
        byPool.delete(pool)
        answer.resolve({ kind: 'ok', sessionId, workerId: rootIdOf(sessionId), wakeups: own })
      }
    } catch (error) {
      // Its time is over, or one of them met something that is not as it should be: which, they say themselves (P1).
      const isOver = error instanceof RuntimeError && error.retryable
      for (const { order, facts, answer } of some) {
        if (isOver) answer.reject(error)
        else answer.resolve(this.#spawnAlone(order, facts, Math.max(1, give - performance.now())))
      }
    }
  }

  async #spawnAlone(order: SpawnSession, facts: readonly string[], deadlineMs: number): Promise<SpawnAnswer> {
    const { sessionId: id, kind, pool, mail, event } = order
    const { wakeupMs } = this.#policy
    const keys = spawnKeys(this.#keys, rootIdOf(id))
    const args = { sessionId: id, kind, pool, mail, seed: newSeed(), wakeupMs, event, facts }
    const reply = await this.#caller.call(spawnScript, keys, args, { deadlineMs })
    const [answer, sessionId, wakeups] = reply as [SpawnAnswer['kind'], string, string]
    return { kind: answer, sessionId, workerId: rootIdOf(sessionId), wakeups: parseWakeups(wakeups) }
  }

  /** What is not as a session starts by default. */
  #factsOf({ kind, name, mode, limits, permissions, keyDigest, mail }: SpawnSession): string[] {
    const facts: string[] = []
    if (name !== kind) facts.push('name', name)
    if (mode !== 'job') facts.push('mode', mode)
    const limitsText = encodeLimits(limits)
    if (limitsText !== startLimits) facts.push('limits', limitsText)
    const caps = encodeSpending(limits)
    if (caps !== startCaps) facts.push('caps', caps)
    if (permissions) facts.push('permissions', permissions)
    if (keyDigest !== null) {
      // Without caps as versions before this one have it, which knew of no others: their keys are asked for again after an upgrade.
      const rest = caps === startCaps ? [] : [caps]
      const asked = digestAsked(JSON.stringify([kind, name, mode, limitsText, permissions, mail, ...rest]))
      facts.push('idem', keyDigest, 'idemMs', String(this.#policy.givenKeyMs), 'asked', asked)
    }
    return facts
  }
}

const none: readonly Wakeup[] = []

function wordsOf(order: SpawnSession, facts: readonly string[]): string[] {
  return [order.sessionId, order.kind, order.pool, order.mail, order.event, ...facts, '.']
}
