/**
 * Duty: count the times at which Redis took no writes while this process lived (a fail-over, a full disk, too few replicas). BullMQ counts a job
 * whose lock ended in such a time as if its node had died.
 * REFUSED-1 A process that dies forgets them: a job that ends its nodes is excused only for the times that another process saw.
 */

import { notNowCodes, userCodes, userWords } from '../core/redis-refusals.ts'

/** Redis 6.2 wraps such an error of a script. A user may have lost the right to write. */
const takesNoWrites = new RegExp(String.raw`(?:^|: -)(?:${notNowCodes}|${userCodes})\b|${userWords}`)

/** BullMQ's worker asks Redis more often than this: refusals that are further apart are of different times. */
const apartMs = 20_000
const keptMost = 100

export class RefusedTimes {
  /** When each of them was noticed last, in ms since 1970. */
  readonly #lasts: number[] = []

  /** Only a Redis that takes no writes counts. Any other error, such as that of a damaged key, may be due to the job itself. */
  note(error: unknown, now = Date.now()): void {
    if (!(error instanceof Error) || error.name !== 'ReplyError' || !takesNoWrites.test(error.message)) return
    const goesOn = now - (this.#lasts.at(-1) ?? Number.NEGATIVE_INFINITY) <= apartMs
    if (goesOn) this.#lasts.pop()
    this.#lasts.push(now)
    if (this.#lasts.length > keptMost) this.#lasts.shift()
  }

  since(time: number): number {
    return this.#lasts.filter((last) => last >= time).length
  }
}
