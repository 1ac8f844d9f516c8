/**
 * Duty: give a request that is repeated under its idempotency key the answer of the first one.
 * ANSWERS-1 If a request is repeated while the first one is still at work, it waits for that one, and is not begun beside it. A request that failed
 * is begun again: its caller may have mended the cause, or have gone while it waited.
 * ANSWERS-2 The same key with another request is refused: whoever sends it expects something else than what happened.
 * ANSWERS-3 The answers that are kept are bounded, by number and by length: the oldest goes first.
 * Does not own: keys that Redis keeps. Creating, sending, answering, deciding, forking, undo, redo, compaction and adding an endpoint are repeated safely also at
 * another server, or after a restart.
 */
import { hash } from 'node:crypto'
import { ApiError } from './problem.ts'

interface Kept {
  readonly fingerprint: string
  readonly answer: Promise<unknown>
  readonly until: number
  /** The length of the answer in characters; 0 while the request is at work. */
  length: number
}

const keptMs = 86_400_000
const keptMost = 10_000
const lengthMost = 67_108_864

export class Answers {
  readonly #kept = new Map<string, Kept>()
  #length = 0

  /** `asked`: whatever makes a request another one than the first. */
  once(key: string, asked: unknown, answer: () => Promise<unknown>, now = Date.now()): Promise<unknown> {
    const fingerprint = hash('sha256', JSON.stringify(asked) ?? '')
    const kept = this.#kept.get(key)
    if (kept !== undefined && kept.until > now) {
      // The first request may fail because its caller has gone.
      if (kept.fingerprint === fingerprint) return kept.answer.catch(() => this.once(key, asked, answer))
      throw new ApiError(409, 'key_reused', 'another request was sent under this Idempotency-Key: choose a new key.')
    }
    const first = { fingerprint, answer: answer(), until: now + keptMs, length: 0 }
    this.#forget(key)
    this.#kept.set(key, first)
    this.#forgetOld(now)
    const isKept = () => this.#kept.get(key) === first
    first.answer.then(
      (given) => {
        if (!isKept()) return
        first.length = JSON.stringify(given)?.length ?? 0
        this.#length += first.length
        this.#forgetOld(now)
      },
      () => {
        if (isKept()) this.#forget(key)
      },
    )
    return first.answer
  }

  #forget(key: string): void {
    this.#length -= this.#kept.get(key)?.length ?? 0
    this.#kept.delete(key)
  }

  #forgetOld(now: number): void {
    for (const [key, { until }] of this.#kept) {
      if (this.#kept.size <= keptMost && this.#length <= lengthMost && until > now) return
      this.#forget(key)
    }
  }
}
