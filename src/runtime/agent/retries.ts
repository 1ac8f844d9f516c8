/**
 * Duty: decide whether a failed model call or a failed tool is tried again, and after which wait. The wait is a durable timer, so that it
 * occupies no slot.
 * RETRY-1 The worker's record holds how often the same call has failed. Its origin, model or tool, decides where the run goes on.
 * RETRY-2 A provider that is too busy has refused the call and taken nothing for it: such a call is tried more often, whatever else fails between.
 * RETRY-3 A provider asks all runs that it refuses at one moment to come back at one moment. They come back at different ones, and not before it.
 */
import { thrownFields } from '../../core/code-place.ts'
import type { AgentDefinition } from '../../core/definition/define-worker.ts'
import { backOffOf, type RetrySettings } from '../../core/definition/retry-settings.ts'
import type { Tool } from '../../core/definition/tool/define-tool.ts'
import { type RuntimeError, TransientError } from '../../core/errors.ts'
import { retryDelayMs, retryWaitMs } from '../../core/policy.ts'
import { toFailure } from '../../core/worker/run/failure.ts'
import { forRetry, type Wait } from '../../core/worker/wait.ts'
import type { Journal } from './journal.ts'

/** The last moment that a Date can hold. */
const lastMoment = 8_640_000_000_000_000

/** What failed. `busy`: a call of a model whose provider was too busy for it, at least once. */
type Trouble = 'model' | 'busy' | 'tool'

export class Retries {
  readonly #definition: AgentDefinition
  readonly #journal: Journal

  constructor(definition: AgentDefinition, journal: Journal) {
    this.#definition = definition
    this.#journal = journal
  }

  /** How many attempts have failed so far. */
  failed(origin: 'model' | 'tool'): number {
    const isSame = this.#isRetried(origin) || (origin === 'model' && this.#isRetried('busy'))
    return isSame ? this.#journal.position.attempt : 0
  }

  /** How many attempts there may be. */
  #most(trouble: Trouble, { most }: RetrySettings = this.#settings): number {
    const { retries, busyRetries } = this.#journal.turn.host.policy
    return (most ?? (trouble === 'busy' ? Math.max(retries, busyRetries) : retries)) + 1
  }

  #troubleOf(error: RuntimeError, origin: 'model' | 'tool'): Trouble {
    if (origin === 'tool') return 'tool'
    return error.code === 'model_overloaded' || this.#isRetried('busy') ? 'busy' : 'model'
  }

  get #settings(): RetrySettings {
    const { retry = {}, retries } = this.#definition
    return retries === undefined ? retry : { ...retry, most: retries }
  }

  /** The wait before a call of this tool is tried again. Null if it has no further attempt. */
  toolWaitMs({ retry }: Pick<Tool, 'retry'>, error: RuntimeError): number | null {
    const attempt = this.failed('tool') + 1
    const settings = { ...this.#settings, ...retry }
    return attempt >= this.#most('tool', settings) ? null : this.#waitMs(error, 'tool', attempt, settings)
  }

  /**
   * Records the failed attempt and returns the wait until the next one. Returns null, and records nothing, if there is no next one. `failed`: the wait
   * that the tools say, and whether an entry tells of the attempt already.
   */
  tryAgain(
    error: RuntimeError,
    origin: 'model' | 'tool',
    failed: { readonly isRecorded: boolean; readonly retryMs: number } | null = null,
  ): { readonly for: Wait; readonly retryMs: number } | null {
    const { machine, position } = this.#journal
    const attempt = this.failed(origin) + 1
    const trouble = this.#troubleOf(error, origin)
    const isLast = failed === null && attempt >= this.#most(trouble)
    if (!error.retryable || isLast || this.tooLate(error, origin) !== null) return null
    const retryMs = failed?.retryMs ?? this.#waitMs(error, origin, attempt)
    const failure = toFailure(error, origin, attempt, Date.now())
    // What a tool threw is in the line of that call.
    const logged = origin === 'tool' ? {} : { error: failure.message, ...thrownFields(error) }
    const what =
      origin === 'model' ? 'a model call failed and will be made again' : 'tools failed and will be run again'
    this.#journal.log.warn(what, { attempt, of: this.#most(trouble), retryMs, code: failure.code, ...logged })
    machine.apply(origin === 'model' ? 'replyFailed' : 'toolFailed')
    const entries = failed?.isRecorded ? [] : [this.#journal.entry('attemptFailed', { failure, retryMs })]
    this.#journal.add(entries, {
      failure,
      position: { attempt, retrying: this.#key(trouble) },
      notes: [['turn.retried', { run: position.run, attempt, retryMs, failure }]],
    })
    return { for: forRetry, retryMs }
  }

  /**
   * If the provider asks for a longer wait than a run waits for its model, or than is left of its time, says until when. A run would otherwise be
   * parked for as long as any server says. The author of a tool knows how long a wait makes sense.
   */
  tooLate(error: RuntimeError, origin: 'model' | 'tool'): string | null {
    const { modelRetryMsMax } = this.#journal.turn.host.policy
    const asked = error instanceof TransientError ? error.retryAfterMs : undefined
    if (origin === 'tool' || asked === undefined || !(asked > Math.min(modelRetryMsMax, this.#leftMs))) return null
    return new Date(Math.min(Date.now() + asked, lastMoment)).toISOString()
  }

  /** How long the run may still take, by the limit of its kind. */
  get #leftMs(): number {
    const { runMs } = this.#definition.limits ?? {}
    const { startedAt } = this.#journal.container.run
    return runMs === undefined || startedAt === null
      ? Number.POSITIVE_INFINITY
      : Math.max(0, startedAt + runMs - Date.now())
  }

  #waitMs(error: RuntimeError, origin: 'model' | 'tool', attempt: number, settings = this.#settings): number {
    const { modelBackoffMs, retryBackoffMs, retryBackoffMsMax: capMs } = this.#journal.turn.host.policy
    const asked = error instanceof TransientError ? error.retryAfterMs : undefined
    const backOff = backOffOf(settings, { baseMs: origin === 'tool' ? retryBackoffMs : modelBackoffMs, capMs })
    if (origin === 'tool') return retryWaitMs(asked, attempt, Math.random(), backOff)
    const own = retryDelayMs(attempt, Math.random(), backOff)
    // The own wait comes behind that of the provider (RETRY-3), which may be 0, or a date that has passed by this node's clock.
    return asked === undefined ? own : retryWaitMs(Math.max(0, asked) + own, attempt, 0)
  }

  #isRetried(trouble: Trouble): boolean {
    return this.#journal.position.retrying === this.#key(trouble)
  }

  #key(trouble: Trouble): string {
    const { iterations } = this.#journal.container.run
    return `${trouble}:${trouble === 'tool' ? iterations : iterations + 1}`
  }
}
