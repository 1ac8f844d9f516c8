/**
 * Duty: Ctrl+C and its kin while a command works: the first asks it to end well, the second ends it at once.
 * A terminal sends the signal to all its processes and npm sends it on, so the same key press can arrive twice: what follows
 * within a tenth of a second is the first one again.
 */
import { exitCodeOfSignal, exitCodes } from '../exit-code.ts'
import { endProcess } from './sudden-end.ts'

const samePressMs = 100
/** How long a command that was interrupted may take to cancel and to stop. */
export const commandEndMsMax = 15_000
/** How long what was begun may take to come and to be put away. */
const putAwayMsMax = 2_000
const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Thrown out of a command that a signal ended before it had anything to end well. */
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
  readonly #onSignal: (signal: (typeof signals)[number]) => void
  #firstAt = 0
  #exitCode: number | undefined

  /**
   * `onFirst` is told of the first signal, to say what happens now. Ending well may take `endMsMax`, then the process ends as with a
   * second signal: a Redis that has gone must not hold a person.
   */
  constructor(onFirst: () => void, endMsMax?: number) {
    this.#onSignal = (signal) => {
      const now = performance.now()
      if (this.#exitCode === undefined) {
        this.#firstAt = now
        this.#exitCode = exitCodeOfSignal(signal)
        onFirst()
        this.#controller.abort()
        if (endMsMax !== undefined) setTimeout(() => endProcess(this.#exitCode), endMsMax).unref()
      } else if (now - this.#firstAt > samePressMs) {
        endProcess(exitCodeOfSignal(signal))
      }
    }
    for (const signal of signals) process.on(signal, this.#onSignal)
  }

  /** Aborted by the first signal. */
  get signal(): AbortSignal {
    return this.#controller.signal
  }

  /** What the process is to end with after the first signal; undefined before. */
  get exitCode(): number | undefined {
    return this.#exitCode
  }

  /**
   * The value, unless a signal comes first: then an Interrupted is thrown, and what would have come is put away again. For what cannot
   * be cancelled itself.
   */
  async orThrow<Value>(promise: Promise<Value>): Promise<Value> {
    const { promise: interrupted, reject } = Promise.withResolvers<never>()
    const onAbort = () => reject(new Interrupted(this.#exitCode ?? exitCodes.interrupted))
    if (this.signal.aborted) onAbort()
    this.signal.addEventListener('abort', onAbort, { once: true })
    try {
      return await Promise.race([interrupted, promise])
    } catch (thrown) {
      if (thrown instanceof Interrupted) await putAway(promise)
      throw thrown
    } finally {
      this.signal.removeEventListener('abort', onAbort)
    }
  }

  [Symbol.dispose](): void {
    for (const signal of signals) process.off(signal, this.#onSignal)
  }
}

/** A node that goes on starting would count as live when this process has gone. */
async function putAway(promise: Promise<unknown>): Promise<void> {
  const away = promise.then(async (value) => {
    if (typeof value === 'object' && value !== null && Symbol.asyncDispose in value)
      await (value as AsyncDisposable)[Symbol.asyncDispose]()
  })
  const { promise: late, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, putAwayMsMax)
  await Promise.race([away.catch(() => {}), late])
  clearTimeout(timer)
}
