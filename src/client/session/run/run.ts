/**
 * Duty: one run of the root of a session as programs see it: its result, its cancel, and callbacks by name for its end.
 * RUN-1 Each callback is called once, at once if the run has ended. Callbacks that wait for the same end are called side by side, and one that throws
 *       stops no other: the log of the client says so.
 * RUN-2 Callbacks live in this process. None is called after `off`, and none if the client is closed before the run ends.
 */
import type { WorkerLog } from '../../../core/definition/worker-log.ts'
import { damageOf, InputError, toRuntimeError } from '../../../core/errors.ts'
import type { ResultStatus, RunResult } from '../../../core/history/entry.ts'
import type { Failure } from '../../../core/worker/run/failure.ts'
import type { ResultQuery } from '../../queries.ts'
import type { Worker } from '../../worker.ts'
import { defaultReason } from './cancel-reason.ts'

/** Gets the worker, how its run ended, and the failure if it failed. */
export type EndCallback = (worker: Worker, how: ResultStatus, failure?: Failure) => unknown

interface RunContext<Result> {
  readonly root: Worker
  readonly log: WorkerLog
  result(query: ResultQuery): Promise<RunResult<Result>>
}

export class Run<Result = unknown> {
  readonly #context: RunContext<Result>
  #number: number | undefined
  readonly #waiting = new Map<string, EndCallback>()
  /** Set while callbacks wait. */
  #following: AbortController | undefined

  constructor(context: RunContext<Result>, number: number | undefined) {
    this.#context = context
    this.#number = number
  }

  /** The number of the run, counted from 1. Undefined if the caller named none and the end is not known yet. */
  get number(): number | undefined {
    return this.#number
  }

  /** Resolves once the run has ended: see `session.result`. */
  async result(query: Pick<ResultQuery, 'signal'> = {}): Promise<RunResult<Result>> {
    const result = await this.#context.result({ ...query, ...(this.#number !== undefined && { run: this.#number }) })
    this.#number = result.run
    return result
  }

  /** Cancels the run like `worker.cancelRun`. Returns false if it is not in progress. */
  async cancel(reason = defaultReason): Promise<boolean> {
    return this.#context.root.cancelRun(reason, this.#number)
  }

  /**
   * Calls the function once when the run ends, and at once if it has ended: with the worker, how the run ended, and its failure. A second function
   * under the same name takes the place of the first. What it throws is logged by the client, and nobody waits for what it returns.
   */
  onEnd(name: string, callback: EndCallback): void {
    if (typeof name !== 'string' || name === '') throw new InputError('onEnd takes a name that is not empty.')
    if (typeof callback !== 'function') throw new InputError(`onEnd takes a function for "${name}".`)
    this.#waiting.set(name, callback)
    if (this.#following === undefined) void this.#follow()
  }

  /** Takes the callback with this name back. Returns false if none waits under it. */
  off(name: string): boolean {
    const wasThere = this.#waiting.delete(name)
    if (this.#waiting.size === 0) this.#following?.abort()
    return wasThere
  }

  async #follow(): Promise<void> {
    const following = new AbortController()
    this.#following = following
    try {
      const result = await this.result({ signal: following.signal })
      if (this.#following === following) this.#following = undefined
      this.#tell(result)
    } catch (thrown) {
      if (this.#following !== following) return
      this.#following = undefined
      // A callback may have been added after the last one was taken back.
      if (following.signal.aborted && this.#waiting.size > 0) void this.#follow()
      else if (!following.signal.aborted) this.#giveUp(thrown)
    }
  }

  #tell(result: RunResult<Result>): void {
    const callbacks = [...this.#waiting]
    this.#waiting.clear()
    const failure = result.status === 'failed' ? result.failure : undefined
    for (const [name, callback] of callbacks) void this.#call(name, callback, result.status, failure)
  }

  async #call(name: string, callback: EndCallback, how: ResultStatus, failure: Failure | undefined): Promise<void> {
    try {
      await callback(this.#context.root, how, failure)
    } catch (thrown) {
      const error = toRuntimeError(thrown).message
      this.#context.log.error('a callback for the end of a run threw', { worker: this.#context.root.id, name, error })
    }
  }

  #giveUp(thrown: unknown): void {
    const names = [...this.#waiting.keys()]
    this.#waiting.clear()
    const error = damageOf(thrown) ?? toRuntimeError(thrown).message
    this.#context.log.warn('ends of runs could not be read: their callbacks are not called', {
      worker: this.#context.root.id,
      names,
      error,
    })
  }
}
