/**
 * Duty: shares few threads among the tools that ask for one.
 * TP1 Never more than `threadsMax` threads; none before the first call, and idle ones end.
 * TP2 A call that waits gets the next thread that is free or may be started, in order, also after a thread died.
 * TP3 After `close` no thread is left, and no call waits.
 * TP4 A tool that uses up its heap ends its thread, not its process. V8 ends the process where more lives on from one young
 *     collection than the little that Node adds to a full heap: the young generation is kept smaller than that.
 */
import { availableParallelism } from 'node:os'
import type { ResourceLimits } from 'node:worker_threads'
import type { Workspace } from '../../../core/definition/define-tool.ts'
import { policy } from '../../../core/policy.ts'
import type { Attempt } from '../attempt.ts'
import type { ToolRun, ToolThreads } from '../executor.ts'
import { ToolThread } from './tool-thread.ts'

export interface ThreadPoolSettings {
  /** Default: what the machine can run at the same time. */
  readonly threadsMax?: number
  readonly idleMs?: number
  readonly graceMs?: number
  /** Of each thread. Default: Node's, but for the young generation (TP4). */
  readonly resourceLimits?: ResourceLimits
}

export class ThreadPool implements ToolThreads {
  readonly #settings: Required<Omit<ThreadPoolSettings, 'resourceLimits'>> & ThreadPoolSettings
  /** Those alive or being ended. */
  readonly #threads = new Set<ToolThread>()
  /** Timers of those that may be taken. */
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
      const error = new Error(`tool "${call.tool.name}" was not run: the threads of this node were closed.`)
      return { kind: 'threw', error, facts: {} }
    }
    try {
      // It fired while the call waited: the tool has not begun, and must not.
      signal.throwIfAborted()
      started()
      return await thread.run(call, workspace?.root ?? null, signal)
    } catch (error) {
      return { kind: 'threw', error, facts: {} }
    } finally {
      this.#giveBack(thread)
    }
  }

  /** Ends all threads, with the tools they run. */
  async close(): Promise<void> {
    this.#closed = true
    for (const next of this.#waiting.splice(0)) next(null)
    await Promise.all([...this.#threads].map((thread) => this.#end(thread)))
  }

  /** Null when the pool is closed. A call that was stopped keeps its place until its turn, and then gives the thread back. */
  async #take(): Promise<ToolThread | null> {
    if (this.#closed) return null
    const free = this.#free()
    if (free) return free
    const { promise, resolve } = Promise.withResolvers<ToolThread | null>()
    this.#waiting.push(resolve)
    return promise
  }

  #free(): ToolThread | null {
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

  #giveBack(thread: ToolThread): void {
    if (this.#closed) return
    if (thread.alive) {
      this.#idle.set(thread, setTimeout(() => void this.#end(thread), this.#settings.idleMs).unref())
    } else {
      this.#threads.delete(thread)
    }
    this.#serve()
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
    const next = this.#free()
    if (next) this.#waiting.shift()?.(next)
  }
}
