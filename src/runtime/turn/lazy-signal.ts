/**
 * Duty: an AbortSignal that is made when somebody asks for it. Most turns end before anybody does, and a signal with its listeners costs
 * more than a short turn. Runtime code listens by `whenAborted` instead.
 */

type Listener = (reason: Error) => void

export class LazySignal {
  #controller: AbortController | undefined
  #reason: Error | undefined
  #listeners: Listener[] = []
  #fired: Promise<void> | undefined

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

  /** Resolves when the signal fires. */
  get fired(): Promise<void> {
    this.#fired ??= new Promise((resolve) => this.whenAborted(() => resolve()))
    return this.#fired
  }

  /** Calls the listener when the signal fires, or at once if it has. Returns a function that removes the listener. */
  whenAborted(listener: Listener): () => void {
    if (this.#reason) listener(this.#reason)
    this.#listeners.push(listener)
    return () => {
      this.#listeners = this.#listeners.filter((one) => one !== listener)
    }
  }

  /** The first reason counts. */
  abort(reason: Error): void {
    if (this.#reason) return
    this.#reason = reason
    this.#controller?.abort(reason)
    for (const listener of this.#listeners) listener(reason)
  }
}
