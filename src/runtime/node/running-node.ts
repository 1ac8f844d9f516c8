/**
 * Duty: a node as the program that started it sees it: what it runs, and its end. It stops with its listeners, in an order that loses nothing.
 */
import type { RuntimeNode } from './node.ts'

export interface TroupeNode extends AsyncDisposable {
  readonly id: string
  readonly kinds: readonly string[]
  /** The address at which the node answers with its metrics; null if it was not asked to. */
  readonly metricsUrl: string | null
  /** How many turns run now. */
  readonly busy: number
  /** Drains: turns end at their next step, at the latest after the drain time (`drainMs`); `force` gives them back at once. Safe to call twice. */
  stop(options?: { force?: boolean }): Promise<void>
}

/** Brings work to a node. */
export interface Listener {
  ready(): Promise<unknown>
  stop(): Promise<void>
}

export class RunningNode implements TroupeNode {
  readonly kinds: readonly string[]
  readonly #node: RuntimeNode
  readonly #close: () => Promise<void>
  #metrics: { readonly url: string; close(): Promise<void> } | undefined
  readonly #listeners: Listener[] = []
  #stopping: Promise<void> | undefined

  constructor(node: RuntimeNode, kinds: readonly string[], close: () => Promise<void>) {
    this.#node = node
    this.kinds = kinds
    this.#close = close
  }

  /** The server is closed last, so that one can watch the node drain. */
  servesMetrics(server: { readonly url: string; close(): Promise<void> }): void {
    this.#metrics = server
  }

  get metricsUrl(): string | null {
    return this.#metrics?.url ?? null
  }

  /** The listeners begin, and are stopped with the node. Resolves when all listeners are ready. */
  async listen(listeners: readonly Listener[]): Promise<void> {
    this.#listeners.push(...listeners)
    await Promise.all(listeners.map((listener) => (this.#stopping ? listener.stop() : listener.ready())))
  }

  get id(): string {
    return this.#node.id
  }

  get busy(): number {
    return this.#node.turnsRunning
  }

  stop(options: { force?: boolean } = {}): Promise<void> {
    if (this.#stopping && options.force) void this.#node.stop({ force: true })
    this.#stopping ??= this.#stop(options)
    return this.#stopping
  }

  async #stop(options: { force?: boolean }): Promise<void> {
    const draining = this.#node.stop(options)
    await Promise.all(this.#listeners.map((listener) => listener.stop()))
    await draining
    await this.#metrics?.close()
    await this.#close()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop()
  }
}
