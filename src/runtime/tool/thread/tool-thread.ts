/**
 * Duty: run tools in one thread, one call at a time.
 * Does not own: how many threads there are and which call gets one (thread-pool.ts).
 * TOOL-THREAD-1 A call that the thread took is answered, even if the thread dies.
 * TOOL-THREAD-2 If a tool does not end soon after its signal fired, its thread is ended.
 * TOOL-THREAD-3 An idle thread does not keep the process alive.
 */
import { existsSync } from 'node:fs'
import {
  MessageChannel,
  type MessagePort,
  type ResourceLimits,
  receiveMessageOnPort,
  Worker,
} from 'node:worker_threads'
import { TerminalError } from '../../../core/errors.ts'
import type { Attempt } from '../attempt.ts'
import type { ToolRun } from '../executor.ts'
import { ThreadDeath } from './thread-death.ts'
import { type AbortMessage, fromWire, type ThreadMessage, type ThreadOrder } from './thread-wire.ts'

/**
 * The program beside this file, with the same extension: `.ts` when the sources run, `.js` in the build. A program that was bundled into one file
 * has none.
 */
function threadProgram(): URL {
  const program = new URL(import.meta.url.replace(/tool-thread(\.\w+)$/, 'thread-main$1'))
  if (!existsSync(program))
    throw new TerminalError(
      'a tool with `thread` cannot run in a program that is bundled into one file: leave troupe out of the bundle (external).',
    )
  return program
}

export interface ThreadSettings {
  readonly graceMs: number
  readonly resourceLimits: ResourceLimits
}

export class ToolThread {
  readonly #worker: Worker
  readonly #settings: ThreadSettings
  #error: Error | null = null
  #alive = true
  /** Called when the thread ends before its call. */
  #onDeath: (() => void) | null = null
  readonly #gone: Promise<void>

  constructor(settings: ThreadSettings) {
    this.#settings = settings
    // Without execArgv the thread inherits the arguments of its process, including its import conditions.
    this.#worker = new Worker(threadProgram(), { resourceLimits: settings.resourceLimits })
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

  /** False from the moment when it is being ended: a call that it took then would die with it. */
  get alive(): boolean {
    return this.#alive
  }

  /** Never rejects. */
  async run({ tool, input, parts }: ToolRun, root: string | null, signal: AbortSignal): Promise<Attempt> {
    const { signal: _signal, log, onProgress, ...plain } = parts
    const { port1: port, port2 } = new MessageChannel()
    const { promise: ended, resolve: end } = Promise.withResolvers<Attempt>()
    const receive = (message: ThreadMessage) => {
      if (message.type === 'ended') end(fromWire(message.attempt))
      else if (message.type === 'log') log[message.level](message.message, message.fields)
      else if (!signal.aborted) onProgress(message.value)
    }
    port.on('message', (message: ThreadMessage) => quietly(() => receive(message)))
    this.#onDeath = () => {
      for (const message of waitingMessages(port)) quietly(() => receive(message))
      end(threw(new ThreadDeath(this.#deathOf(tool.name))))
    }
    let grace: NodeJS.Timeout | undefined
    const onAbort = () => {
      const { name, message } = signal.reason instanceof Error ? signal.reason : new Error(String(signal.reason))
      port.postMessage({ name, message } satisfies AbortMessage)
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
    this.#alive = false
    this.#error ??= new Error('it was ended')
    await this.#worker.terminate()
    await this.#gone
  }

  #deathOf(tool: string): string {
    return (
      `the thread of tool "${tool}" ended before the tool did (${this.#error?.message ?? 'for no known reason'}). ` +
      'Part of its work may have taken effect.'
    )
  }
}

function* waitingMessages(port: MessagePort): Generator<ThreadMessage> {
  for (;;) {
    const received: { message: ThreadMessage } | undefined = receiveMessageOnPort(port)
    if (received === undefined) return
    yield received.message
  }
}

/** A listener of progress or a logger may throw. That must not disturb the call. */
function quietly(action: () => void): void {
  try {
    action()
  } catch {}
}

function threw(error: Error): Attempt {
  return { kind: 'threw', error, facts: {} }
}
