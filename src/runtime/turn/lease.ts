/**
 * Duty: how long this node trusts its lease of one worker. The claim begins it and the renewer extends it; both count from before they
 * asked Redis, so that the node stops before Redis may give the worker to another one.
 */
import { performance } from 'node:perf_hooks'

export class Lease {
  #trustedUntil: number

  constructor(trustedUntil: number) {
    this.#trustedUntil = trustedUntil
  }

  isTrusted(now = performance.now()): boolean {
    return now < this.#trustedUntil
  }

  /** Answers of renewals may overtake each other: an older one takes no trust away. */
  extend(trustedUntil: number): void {
    this.#trustedUntil = Math.max(this.#trustedUntil, trustedUntil)
  }
}
