/**
 * Duty: one process with a node (program.ts), as its parent sees it.
 * CHILD-NODE-1 Whatever ends the process, `ended` resolves, and a promise that waits for its answer rejects.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { LogRecord } from '../../view/lines/log-line.ts'
import type { Loaded, NodeSettings, ToChild, ToParent } from './messages.ts'

/** The program beside this file, with the same extension: `.ts` when the sources run, `.js` in the build. */
const program = fileURLToPath(new URL(import.meta.url.replace(/child-node(\.\w+)$/, 'program$1')))

/** How long a process may take to end after it was told to, beyond the time of the drain. */
const endMsMax = 5_000

export interface ChildEvents {
  readonly onLog: (record: LogRecord) => void
  /** A line that code of the worker files printed. */
  readonly onOutput: (line: string) => void
}

/** The process could not load or start, and has ended. */
export class ChildFailedError extends Error {
  override readonly name = 'ChildFailedError'
  /** A code of the library, or `ended` if the process ended without a word. */
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

export interface ChildEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
}

export class ChildNode {
  readonly #child: ChildProcess
  readonly #answers = Promise.withResolvers<Loaded>()
  readonly #start = Promise.withResolvers<string>()
  readonly #drains = Promise.withResolvers<void>()
  readonly ended: Promise<ChildEnd>
  #hasEnded = false
  #isExpected = false

  /** `envFile`: variables for the code of the worker files and the keys of models, if there is such a file. */
  constructor(envFile: string, { onLog, onOutput }: ChildEvents) {
    this.#child = fork(program, [], {
      // Node would say each time that there is no such file.
      execArgv: [...process.execArgv, ...(existsSync(envFile) ? [`--env-file=${envFile}`] : [])],
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    })
    for (const stream of [this.#child.stdout, this.#child.stderr])
      if (stream) createInterface({ input: stream }).on('line', onOutput)
    const { promise: ended, resolve } = Promise.withResolvers<ChildEnd>()
    this.ended = ended
    this.#child.once('error', (error) => this.#reject(new ChildFailedError('ended', error.message)))
    this.#child.once('close', (code, signal) => {
      this.#hasEnded = true
      this.#reject(new ChildFailedError('ended', `the process of the node ended (${endText(code, signal)}).`))
      this.#drains.resolve()
      resolve({ code, signal })
    })
    this.#child.on('message', (message: ToParent) => {
      if (message.type === 'loaded') this.#answers.resolve(message)
      else if (message.type === 'started') this.#start.resolve(message.nodeId)
      else if (message.type === 'draining') this.#drains.resolve()
      else if (message.type === 'log') onLog(message.record)
      else this.#reject(new ChildFailedError(message.code, message.message))
    })
    for (const { promise } of [this.#answers, this.#start]) promise.catch(() => {})
  }

  get pid(): number {
    return this.#child.pid ?? 0
  }

  /** Whether this parent has ended the process. */
  get isExpectedToEnd(): boolean {
    return this.#isExpected
  }

  /** Loads the worker files. Throws what `troupe node` would refuse with, if the folder cannot be read. */
  load(settings: NodeSettings): Promise<Loaded> {
    this.#send({ type: 'load', settings })
    return this.#answers.promise
  }

  /** Begins to take work. Resolves with the id of the node. */
  start(): Promise<string> {
    this.#send({ type: 'start' })
    return this.#start.promise
  }

  /** Resolves when the process begins no turn any more, because it was told to stop, or has ended. */
  get drains(): Promise<void> {
    return this.#drains.promise
  }

  /** Drains, and resolves when the process has ended. */
  async stop(drainMs: number): Promise<void> {
    this.#isExpected = true
    this.#send({ type: 'stop', drainMs })
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), drainMs + endMsMax)
    await this.ended
    clearTimeout(timer)
  }

  /** Ends the process as a power cut would. */
  async kill(): Promise<void> {
    this.#isExpected = true
    this.#child.kill('SIGKILL')
    await this.ended
  }

  #send(message: ToChild): void {
    // A process that is gone has said so by its end.
    if (!this.#hasEnded) this.#child.send(message, () => {})
  }

  #reject(error: Error): void {
    this.#answers.reject(error)
    this.#start.reject(error)
  }
}

/** `exit code 1`, or the name of the signal. */
export function endText(code: number | null, signal: NodeJS.Signals | null): string {
  return signal ?? `exit code ${code}`
}
