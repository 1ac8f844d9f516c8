/**
 * Duty: give a request that is repeated under its idempotency key the answer of the first one.
 * ANSWERS-1 A request that is still at work is waited for, and not begun again. One that failed is begun again: its caller may have mended the cause.
 * ANSWERS-2 The same key with another request is refused: whoever sends it expects something else than what happened.
 * Does not own: keys that Redis keeps. Creating, sending, answering and deciding are repeated safely also at another server, or after a restart.
 */
import { hash } from 'node:crypto'
import { ApiError } from './problem.ts'

interface Kept {
  readonly fingerprint: string
  readonly answer: Promise<unknown>
  readonly until: number
}

const keptMs = 86_400_000
const keptMost = 10_000

export class Answers {
  readonly #kept = new Map<string, Kept>()

  /** `asked`: what tells requests apart. */
  once(key: string, asked: unknown, answer: () => Promise<unknown>, now = Date.now()): Promise<unknown> {
    const fingerprint = hash('sha256', JSON.stringify(asked) ?? '')
    const kept = this.#kept.get(key)
    if (kept !== undefined && kept.until > now) {
      if (kept.fingerprint === fingerprint) return kept.answer
      throw new ApiError(409, 'key_reused', 'another request was sent under this Idempotency-Key: choose a new key.')
    }
    const first = { fingerprint, answer: answer(), until: now + keptMs }
    this.#kept.delete(key)
    this.#kept.set(key, first)
    this.#forgetOld(now)
    first.answer.catch(() => {
      if (this.#kept.get(key) === first) this.#kept.delete(key)
    })
    return first.answer
  }

  #forgetOld(now: number): void {
    for (const [key, { until }] of this.#kept) {
      if (this.#kept.size <= keptMost && until > now) return
      this.#kept.delete(key)
    }
  }
}
