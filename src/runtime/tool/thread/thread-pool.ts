/**
 * Duty: share a few threads among the tools that ask for one.
 * Does not own: a single thread and its call (tool-thread.ts).
 * THREAD-POOL-1 There are never more than `threadsMax` threads. None starts before the first call, and idle ones end.
 * THREAD-POOL-2 Waiting calls get, in order, the next thread that becomes free or may be started, also after a thread died.
 * THREAD-POOL-3 After `close` no thread is left and no call waits.
 * THREAD-POOL-4 A tool that uses up its heap ends its thread and not its process. V8 ends the whole process if more objects survive one
 *               collection of the young generation than the small reserve that Node adds to a full heap. The young generation of a
 *               thread is therefore kept smaller than that reserve.
 */
import { availableParallelism } from 'node:os'
import type { ResourceLimits } from 'node:worker_threads'
import type { Workspace } from '../../../core/definition/tool/define-tool.ts'
import { policy } from '../../../core/policy.ts'
import type { Attempt } from '../attempt.ts'
import type { ToolRun, ToolThreads } from '../executor.ts'
import { ToolThread } from './tool-thread.ts'

export interface ThreadPoolSettings {
  /** Default: the number of threads that the machine can run at the same time. */
  readonly threadsMax?: number
  readonly idleMs?: number
  readonly graceMs?: number
  /** Limits of each thread. Default: those of Node, except for the young generation (THREAD-POOL-4). */
  readonly resourceLimits?: ResourceLimits
}

export class ThreadPool implements ToolThreads {
  readonly #settings: Required<Omit<ThreadPoolSettings, 'resourceLimits'>> & ThreadPoolSettings
  /** Threads that are alive or being ended. */
  readonly #threads = new Set<ToolThread>()
  /** Threads that may be taken, each with the timer that ends it. */
  readonly #idle = new Map<ToolThread, NodeJS.Timeout>()
  readonly #waiting: ((thread: ToolThread | null) => void)[] = []
  #closed = false

  constructor(settings: ThreadPoolSettings = {}) {
    this.#settings = {
      threadsMax: availableParallelism(),
      idleMs: policy.threadIdleMs,
      graceMs: policy.threadGraceMs,
      ...settings,
    }
  }

  get size(): number {
    return this.#threads.size
  }

  async attempt(
    call: ToolRun,
    signal: AbortSignal,
    workspace: Workspace | null,
    started: () => void,
  ): Promise<Attempt> {
    let thread: ToolThread | null
    try {
      thread = await this.#take()
    } catch (error) {
      return { kind: 'threw', error, facts: {} }
    }
    if (thread === null) {
      const error = new Error(`tool "${call.tool.name}" was not run, because this node has closed its threads.`)
      return { kind: 'threw', error, facts: {} }
    }
    try {
      // If the signal fired while the call waited, the tool has not begun and must not begin.
      signal.throwIfAborted()
      started()
      return await thread.run(call, workspace?.root ?? null, signal)
    } catch (error) {
      return { kind: 'threw', error, facts: {} }
    } finally {
      this.#release(thread)
    }
  }

  /** Ends all threads and the tools that they run. */
  async close(): Promise<void> {
    this.#closed = true
    for (const next of this.#waiting.splice(0)) next(null)
    await Promise.all([...this.#threads].map((thread) => this.#end(thread)))
  }

  /** Null when the pool is closed. A call that is aborted while it waits stays in the queue, and releases its thread at once. */
  async #take(): Promise<ToolThread | null> {
    if (this.#closed) return null
    const thread = this.#idleOrNew()
    if (thread) return thread
    const { promise, resolve } = Promise.withResolvers<ToolThread | null>()
    this.#waiting.push(resolve)
    return promise
  }

  #idleOrNew(): ToolThread | null {
    for (const [thread, timer] of this.#idle) {
      clearTimeout(timer)
      this.#idle.delete(thread)
      if (thread.alive) return thread
      this.#threads.delete(thread)
    }
    if (this.#threads.size >= this.#settings.threadsMax) return null
    const { graceMs } = this.#settings
    const resourceLimits = { maxYoungGenerationSizeMb: policy.threadYoungMb, ...this.#settings.resourceLimits }
    const thread = new ToolThread({ graceMs, resourceLimits })
    this.#threads.add(thread)
    return thread
  }

  #release(thread: ToolThread): void {
    if (this.#closed) return
    if (thread.alive) {
      this.#idle.set(thread, setTimeout(() => void this.#end(thread), this.#settings.idleMs).unref())
      this.#serve()
    } else void this.#end(thread)
  }

  async #end(thread: ToolThread): Promise<void> {
    clearTimeout(this.#idle.get(thread))
    this.#idle.delete(thread)
    await thread.kill()
    this.#threads.delete(thread)
    this.#serve()
  }

  #serve(): void {
    if (this.#waiting.length === 0) return
    const next = this.#idleOrNew()
    if (next) this.#waiting.shift()?.(next)
  }
}
