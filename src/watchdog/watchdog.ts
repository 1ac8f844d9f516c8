/**
 * Duty: tell what ended a node, or what blocks it, although the node itself can tell nothing any more. A thread does both: it has an event
 * loop of its own.
 * Owns: the beat of the node, its last order, and what the thread may ask. Does not own: what the thread does (thread-main.ts).
 * WATCHDOG-1 The process waits for its last order, but at most `orderMs`. Only an order that ends the process waits.
 * WATCHDOG-2 A node that stops in good order gives no last order: nothing of it outlives `stop`.
 * WATCHDOG-3 Nobody's decision is changed: an error that the owner of the process survives releases nothing.
 * WATCHDOG-4 The thread ends before the process does: Node may wait for ever for a thread that computes while the process exits.
 */

import { closeSync } from 'node:fs'
import { url as debuggerUrl } from 'node:inspector'
import { hostname } from 'node:os'
import { inspect } from 'node:util'
import { Worker } from 'node:worker_threads'
import { codePlaceOf } from '../core/code-place.ts'
import type { Policy } from '../core/policy.ts'
import type { HeldTurn } from '../core/ports/ports.ts'
import { expectProcessEnd, isProcessEndExpected } from '../core/process-end.ts'
import { type Cause, lastWordsOf, type UserCall } from '../core/worker/last-words.ts'
import type { Look, ReleaseOrder, ThreadSettings } from './orders.ts'

/** The program beside this file, with the same extension: `.ts` when the sources run, `.js` in the build. */
const program = new URL(import.meta.url.replace(/watchdog(\.\w+)$/, 'thread-main$1'))

/**
 * How long the end of a process waits for its thread. The thread waits for Redis for a few seconds only; but a process that dies as it starts, on a
 * busy machine, has a thread that still loads.
 */
const orderMs = 20_000
const threadEndMs = 100
/** An error that was survived for so long has not ended the process. */
const survivedMs = 10_000
const exitCode = 70

export interface WatchedNode {
  readonly nodeId: string
  readonly redisUrl: string
  readonly namespace: string
  readonly places: { readonly length: number }
  readonly policy: Policy
  readonly isJson: boolean
  /** The process ends when code blocks it for longer than its leases last. */
  readonly endIfBlocked: boolean
  currentCall(): UserCall | undefined
  turns(): readonly HeldTurn[]
  /** The thread cannot run, and the node goes on without it. */
  onThreadLost(error: Error): void
}

interface Death {
  readonly cause: Cause
  readonly call: UserCall | undefined
}

/** What the thread calls by `Runtime.evaluate`, by the id of the node. */
interface Hooks {
  look(): string
  end(): void
}
const hooksKey = 'troupe.watchdog'

/** All copies of troupe in this process share it. */
function hooksOf(): Map<string, Hooks> {
  const key = Symbol.for(hooksKey)
  const shared = globalThis as { [key]?: Map<string, Hooks> }
  shared[key] ??= new Map()
  return shared[key]
}

/** There is one listener for all watchdogs, because Node warns of more than ten. */
const watchdogs = new Set<Watchdog>()
const onUncaught = (thrown: unknown) => {
  for (const watchdog of watchdogs) watchdog.noteUncaught(thrown)
}
const onExit = (code: number) => {
  for (const watchdog of watchdogs) watchdog.noteExit(code)
}

export class Watchdog {
  readonly #node: WatchedNode
  readonly #shared = new Int32Array(new SharedArrayBuffer(16))
  readonly #thread: Worker
  readonly #beat: NodeJS.Timeout
  #death: Death | undefined

  constructor(node: WatchedNode) {
    this.#node = node
    const { leaseMs, leaseMarginMs, renewEveryMs, wakeupMs } = node.policy
    const everyMs = Math.min(500, renewEveryMs / 4)
    hooksOf().set(node.nodeId, { look: () => JSON.stringify(this.#look()), end: () => this.#end() })
    const own = `globalThis[Symbol.for(${JSON.stringify(hooksKey)})].get(${JSON.stringify(node.nodeId)})`
    const { redisUrl, nodeId, namespace, isJson } = node
    const workerData: ThreadSettings = {
      redisUrl,
      nodeId,
      namespace,
      isJson,
      wakeupMs,
      everyMs,
      host: hostname(),
      shared: this.#shared,
      namedAfterMs: renewEveryMs,
      endsAfterMs: node.endIfBlocked ? leaseMs + leaseMarginMs : Number.POSITIVE_INFINITY,
      lookExpression: `${own}.look()`,
      endExpression: `${own}.end()`,
    }
    this.#thread = new Worker(program, { workerData, name: 'troupe watchdog' })
    this.#thread.unref()
    // Without its thread a node runs as well as with it.
    this.#thread.on('error', (error: Error) => {
      this.#node.onThreadLost(error)
      void this.stop()
    })
    this.#beat = setInterval(() => this.#tick(), everyMs).unref()
    this.#tick()
    if (watchdogs.size === 0) process.on('uncaughtExceptionMonitor', onUncaught).on('exit', onExit)
    watchdogs.add(this)
  }

  #tick(): void {
    Atomics.store(this.#shared, 3, this.#node.places.length)
    Atomics.add(this.#shared, 0, 1)
  }

  /** Ends the thread, which gives no last order (WATCHDOG-2, WATCHDOG-4). */
  async stop(): Promise<void> {
    clearInterval(this.#beat)
    watchdogs.delete(this)
    if (watchdogs.size === 0) process.off('uncaughtExceptionMonitor', onUncaught).off('exit', onExit)
    hooksOf().delete(this.#node.nodeId)
    await this.#thread.terminate()
  }

  noteUncaught(thrown: unknown): void {
    const cause = { sort: 'threw', what: describe(thrown), thrownAt: codePlaceOf(thrown) } as const
    const death = { cause, call: this.#node.currentCall() }
    this.#death = death
    // An error that the owner survives releases nothing (WATCHDOG-3).
    setTimeout(() => {
      if (this.#death === death) this.#death = undefined
    }, survivedMs).unref()
  }

  noteExit(code: number): void {
    if (isProcessEndExpected()) return
    const { cause, call } = this.#death ?? {
      cause: { sort: 'exited', what: `process.exit(${code})`, thrownAt: codePlaceOf(new Error('exit')) } as const,
      call: this.#node.currentCall(),
    }
    const { nodeId: id } = this.#node
    const turns = this.#node.turns()
    const words = lastWordsOf(cause, call, { id, host: hostname(), pid: process.pid })
    this.#order({ ends: true, words, authors: call === undefined ? [] : [call.workerId], turns })
  }

  /** Gives the last order to the thread (WATCHDOG-1). */
  #order(order: ReleaseOrder): void {
    this.#thread.postMessage(order satisfies ReleaseOrder, [])
    Atomics.wait(this.#shared, 1, 0, orderMs)
    // The thread ends before the process does (WATCHDOG-4). Without an event loop nothing tells that the thread is gone: it gets a moment.
    void this.#thread.terminate()
    Atomics.wait(this.#shared, 1, Atomics.load(this.#shared, 1), threadEndMs)
  }

  #look(): Look {
    return {
      call: this.#node.currentCall() ?? null,
      place: codePlaceOf(new Error('blocked')) ?? null,
      turns: this.#node.turns(),
      isDebugged: debuggerUrl() !== undefined,
    }
  }

  #end(): void {
    Atomics.store(this.#shared, 2, 1)
    expectProcessEnd()
    // This comes after all other listeners: Node would print that it waits for a debugger, since the thread's session is one.
    process.once('exit', () => closeSync(2))
    process.exit(exitCode)
  }
}

/** `TypeError: no such thing`. */
function describe(thrown: unknown): string {
  try {
    return thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : inspect(thrown, { depth: 2 })
  } catch {
    return 'a value that cannot be read'
  }
}
