/**
 * Duty: one thread that runs tools, one call at a time.
 * TT1 A call that was taken is answered, whatever becomes of the thread. TT2 A tool that does not end soon after its signal fired
 *     loses its thread. TT3 An idle thread keeps no process alive.
 */
import {
  MessageChannel,
  type MessagePort,
  type ResourceLimits,
  receiveMessageOnPort,
  Worker,
} from 'node:worker_threads'
import type { Attempt } from '../attempt.ts'
import type { ToolRun } from '../executor.ts'
import { ThreadDeath } from './thread-death.ts'
import { type AbortWord, fromWire, type ThreadOrder, type ThreadWord } from './thread-wire.ts'

/** Beside this file, under the same ending: sources run as they are, too. */
const program = new URL(import.meta.url.replace(/tool-thread(\.\w+)$/, 'thread-main$1'))

export interface ThreadSettings {
  readonly graceMs: number
  readonly resourceLimits: ResourceLimits
}

export class ToolThread {
  readonly #worker: Worker
  readonly #settings: ThreadSettings
  #error: Error | null = null
  #alive = true
  /** What to do when the thread ends before the call did. */
  #onDeath: (() => void) | null = null
  readonly #gone: Promise<void>

  constructor(settings: ThreadSettings) {
    this.#settings = settings
    // Without execArgv a thread has that of its process, its conditions included.
    this.#worker = new Worker(program, { resourceLimits: settings.resourceLimits })
    this.#worker.on('error', (error: Error) => {
      this.#error = error
    })
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#gone = promise
    this.#worker.on('exit', (code) => {
      this.#alive = false
      this.#error ??= new Error(`exit code ${code}`)
      resolve()
      this.#onDeath?.()
    })
  }

  get alive(): boolean {
    return this.#alive
  }

  /** Never rejects. */
  async run({ tool, input, parts }: ToolRun, root: string | null, signal: AbortSignal): Promise<Attempt> {
    const { signal: _signal, log, onProgress, ...plain } = parts
    const { port1: port, port2 } = new MessageChannel()
    const { promise: ended, resolve: end } = Promise.withResolvers<Attempt>()
    const hear = (word: ThreadWord) => {
      if (word.type === 'ended') end(fromWire(word.attempt))
      else if (word.type === 'log') log[word.level](word.message, word.fields)
      else if (!signal.aborted) onProgress(word.value)
    }
    port.on('message', (word: ThreadWord) => quietly(() => hear(word)))
    this.#onDeath = () => {
      for (const word of waitingWords(port)) quietly(() => hear(word))
      end(threw(new ThreadDeath(this.#deathOf(tool.name))))
    }
    let grace: NodeJS.Timeout | undefined
    const onAbort = () => {
      const { name, message } = signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason))
      port.postMessage({ name, message } satisfies AbortWord)
      grace = setTimeout(() => void this.kill(), this.#settings.graceMs)
    }
    this.#worker.ref()
    try {
      if (!this.#alive) this.#onDeath()
      const order = { moduleUrl: tool.thread ?? '', toolName: tool.name, input, parts: { ...plain, folder: root } }
      this.#worker.postMessage({ ...order, port: port2 } satisfies ThreadOrder, [port2])
      signal.addEventListener('abort', onAbort)
      if (signal.aborted) onAbort()
      return await ended
    } catch (cause) {
      const reason = cause instanceof Error ? cause.message : String(cause)
      return threw(new Error(`the call of tool "${tool.name}" cannot be handed to a thread: ${reason}`, { cause }))
    } finally {
      clearTimeout(grace)
      signal.removeEventListener('abort', onAbort)
      this.#onDeath = null
      port.close()
      this.#worker.unref()
    }
  }

  /** Resolves when the thread is gone. */
  async kill(): Promise<void> {
    this.#error ??= new Error('it was ended')
    await this.#worker.terminate()
    await this.#gone
  }

  #deathOf(tool: string): string {
    return (
      `the thread of tool "${tool}" ended before the tool did (${this.#error?.message ?? 'for no known reason'}). ` +
      'Part of what it does may have taken effect.'
    )
  }
}

function* waitingWords(port: MessagePort): Generator<ThreadWord> {
  for (;;) {
    const received: { message: ThreadWord } | undefined = receiveMessageOnPort(port)
    if (received === undefined) return
    yield received.message
  }
}

/** Who listens to progress or keeps the log may throw: that is no concern of the call. */
function quietly(action: () => void): void {
  try {
    action()
  } catch {}
}

function threw(error: Error): Attempt {
  return { kind: 'threw', error, facts: {} }
}
