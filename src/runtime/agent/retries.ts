/**
 * Duty: what may be tried again: model calls and tools that failed for the time being, on a durable timer and not in a slot.
 * The record holds how often what is retried has failed; where it failed decides where the run goes on.
 */
import type { AgentDefinition } from '../../core/definition/define-worker.ts'
import { type RuntimeError, TransientError } from '../../core/errors.ts'
import { retryDelayMs, retryWaitMs } from '../../core/policy.ts'
import { toFailure } from '../../core/worker/failure.ts'
import { forRetry } from '../../core/worker/wait.ts'
import type { Journal } from './journal.ts'
import type { Pause } from './scene.ts'

export class Retries {
  readonly #definition: AgentDefinition
  readonly #journal: Journal

  constructor(definition: AgentDefinition, journal: Journal) {
    this.#definition = definition
    this.#journal = journal
  }

  /** Failed tries so far. */
  failed(origin: 'model' | 'tool'): number {
    const { attempt, retrying } = this.#journal.position
    return retrying === this.#key(origin) ? attempt : 0
  }

  /** Tries in all. */
  get most(): number {
    return (this.#definition.retries ?? this.#journal.turn.host.policy.retries) + 1
  }

  /** Adds the failed try and gives the wait for the next one; null, and nothing is added, when there is none. */
  tryAgain(error: RuntimeError, origin: 'model' | 'tool', toolCallIds: readonly string[] = []): Pause | null {
    const { machine, position } = this.#journal
    const attempt = this.failed(origin) + 1
    if (!error.retryable || attempt >= this.most) return null
    const retryMs = this.#waitMs(error, origin, attempt)
    const failure = toFailure(error, origin, attempt, Date.now())
    const what = origin === 'model' ? 'a model call failed and is made again' : 'tools failed and are tried again'
    this.#journal.log.warn(what, { attempt, of: this.most, retryMs, code: failure.code, error: failure.message })
    machine.apply(origin === 'model' ? 'replyFailed' : 'toolFailed')
    const calls = toolCallIds.length > 0 ? { toolCallIds } : {}
    this.#journal.add([{ type: 'attemptFailed', failure, retryMs, ...calls }], {
      failure,
      position: { attempt, retrying: this.#key(origin) },
      notes: [['turn.retried', { run: position.run, attempt, retryMs, failure }]],
    })
    return { for: forRetry, retryMs }
  }

  #waitMs(error: RuntimeError, origin: 'model' | 'tool', attempt: number): number {
    const { policy } = this.#journal.turn.host
    const given = error instanceof TransientError ? error.retryAfterMs : undefined
    if (origin === 'tool') return retryWaitMs(given, attempt, Math.random(), policy)
    const { modelBackoffMs, retryBackoffMsMax } = policy
    const own = retryDelayMs(attempt, Math.random(), { retryBackoffMs: modelBackoffMs, retryBackoffMsMax })
    // A provider names the least: after a 0, or a date that has passed by this node's clock, all tries would be over in no time.
    return given === undefined ? own : Math.max(own, retryWaitMs(given, attempt, 0))
  }

  #key(origin: 'model' | 'tool'): string {
    const { iterations } = this.#journal.container.run
    return `${origin}:${origin === 'model' ? iterations + 1 : iterations}`
  }
}
