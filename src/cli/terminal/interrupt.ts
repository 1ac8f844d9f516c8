/**
 * Duty: signals while a command works (Ctrl+C, SIGTERM, a lost terminal). The first asks the command to end well, the second ends it at
 * once.
 * INT-1 One key press can arrive twice, because a terminal sends the signal to all its processes and npm passes it on. A second signal
 *       within a tenth of a second is the same key press.
 * INT-2 SIGHUP means that the terminal is lost. A process without a terminal (nohup, a service) ignores it: Node forgets that the
 *       caller had it ignored, so that the streams are the only trace of that.
 * INT-3 In a conversation the first Ctrl+C stops an answer and not the command (`stopFirst`); the second ends the process.
 * INT-4 A command that ends by itself, as the person typed (`ending`), is where it would be after the first signal: the next one ends the process at once.
 */
import { exitCodeOfSignal, exitCodes } from '../exit-code.ts'
import { hasTerminal } from './output.ts'
import { endProcess } from './sudden-end.ts'

const samePressMs = 100
/** How long an interrupted command may take to cancel and to stop. */
export const commandEndMsMax = 15_000
/** How long the interrupted command waits for an operation in progress, and for the release of its result. */
const releaseMsMax = 2_000
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const
type Signal = (typeof signals)[number]

/** Ends a command that a signal interrupted before it had anything to stop. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'
  readonly exitCode: number

  constructor(exitCode: number) {
    super('interrupted')
    this.exitCode = exitCode
  }
}

export class Interrupt implements Disposable {
  readonly #controller = new AbortController()
  readonly #onSignal: (signal: Signal) => void
  #firstAt = 0
  #exitCode: number | undefined
  #isHangUp = false
  #isEnding = false
  readonly #endMsMax: number | undefined
  /** Set while an answer can be stopped. */
  #stop: { readonly now: () => void; firstAt?: number } | undefined

  /**
   * Calls `onFirst` at the first signal, so that the command can say what happens now. After `endMsMax` the process ends as with a second
   * signal, because a Redis that is gone must not keep a person waiting.
   */
  constructor(onFirst: (signal: Signal) => void, endMsMax?: number) {
    this.#endMsMax = endMsMax
    this.#onSignal = (signal) => {
      if (signal === 'SIGHUP' && !hasTerminal()) return
      const now = performance.now()
      if (signal === 'SIGINT' && this.#stops(now)) return
      if (this.#exitCode === undefined && !this.#isEnding) {
        this.#exitCode = exitCodeOfSignal(signal)
        this.#isHangUp = signal === 'SIGHUP'
        this.#end(now)
        onFirst(signal)
        this.#controller.abort()
      } else if (now - this.#firstAt > samePressMs) {
        endProcess(exitCodeOfSignal(signal))
      }
    }
    for (const signal of signals) process.on(signal, this.#onSignal)
  }

  /** Called when the command ends without a signal (INT-4). */
  ending(): void {
    if (!this.#isEnding) this.#end(performance.now())
  }

  #end(now: number): void {
    this.#isEnding = true
    this.#firstAt = now
    if (this.#endMsMax !== undefined)
      setTimeout(() => endProcess(this.#exitCode ?? exitCodes.interrupted), this.#endMsMax).unref()
  }

  /** While the returned object is not disposed of, the first Ctrl+C calls this, and the command goes on. */
  stopFirst(now: () => void): Disposable {
    const stop = { now }
    this.#stop = stop
    return {
      [Symbol.dispose]: () => {
        if (this.#stop === stop) this.#stop = undefined
      },
    }
  }

  #stops(now: number): boolean {
    const stop = this.#stop
    if (stop === undefined || this.#exitCode !== undefined) return false
    if (stop.firstAt === undefined) {
      stop.firstAt = now
      stop.now()
    } else if (now - stop.firstAt > samePressMs) endProcess(exitCodes.interrupted)
    return true
  }

  /** Aborted by the first signal. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** Resolves with the first signal. A signal handler alone keeps no process alive: what the command waits for does. */
  get first(): Promise<void> {
    const { signal } = this
    if (signal.aborted) return Promise.resolve()
    return new Promise((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }))
  }

  /** The exit code of the process after the first signal; undefined before. */
  get exitCode(): number | undefined {
    return this.#exitCode
  }

  /** Whether the first signal was a lost terminal: the person did not ask to stop anything. */
  get isHangUp(): boolean {
    return this.#isHangUp
  }

  /**
   * Returns the value of an operation that cannot be cancelled. If a signal comes first, it throws an Interrupted, and disposes of the
   * value as soon as that is there.
   */
  async orThrow<Value>(promise: Promise<Value>): Promise<Value> {
    const { promise: interrupted, reject } = Promise.withResolvers<never>()
    const onAbort = () => reject(new Interrupted(this.#exitCode ?? exitCodes.interrupted))
    if (this.signal.aborted) onAbort()
    this.signal.addEventListener('abort', onAbort, { once: true })
    try {
      return await Promise.race([interrupted, promise])
    } catch (thrown) {
      if (thrown instanceof Interrupted) await release(promise)
      throw thrown
    } finally {
      this.signal.removeEventListener('abort', onAbort)
    }
  }

  [Symbol.dispose](): void {
    for (const signal of signals) process.off(signal, this.#onSignal)
  }
}

/** Without this, a node that is still starting would count as live after this process has ended. */
async function release(promise: Promise<unknown>): Promise<void> {
  const released = promise.then(async (value) => {
    if (typeof value === 'object' && value !== null && Symbol.asyncDispose in value)
      await (value as AsyncDisposable)[Symbol.asyncDispose]()
  })
  const { promise: late, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, releaseMsMax)
  await Promise.race([released.catch(() => {}), late])
  clearTimeout(timer)
}
