/**
 * Duty: an AbortSignal that is made when somebody asks for it: most turns end before, and a signal with its listeners costs more than
 * many a turn. Runtime code listens by `whenAborted` instead.
 */

type Listener = (reason: Error) => void

export class LazySignal {
  #controller: AbortController | undefined
  #reason: Error | undefined
  #listeners: Listener[] = []

  get aborted(): boolean {
    return this.#reason !== undefined
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      if (this.#reason) this.#controller.abort(this.#reason)
    }
    return this.#controller.signal
  }

  /** As a listener of the signal; called at once when it has fired. Returns what takes the listener away. */
  whenAborted(listener: Listener): () => void {
    if (this.#reason) listener(this.#reason)
    this.#listeners.push(listener)
    return () => {
      this.#listeners = this.#listeners.filter((one) => one !== listener)
    }
  }

  /** Once. */
  abort(reason: Error): void {
    if (this.#reason) return
    this.#reason = reason
    this.#controller?.abort(reason)
    for (const listener of this.#listeners) listener(reason)
  }
}
