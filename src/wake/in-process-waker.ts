/** Duty: sends wake-ups to the one node of this process, without BullMQ: for the bench's upper bound, and for tests. */
import type { OnWake, Waker, Wakeup } from '../core/ports/wake.ts'

export class InProcessWaker implements Waker {
  #onWake: OnWake | undefined

  onWake(onWake: OnWake): void {
    this.#onWake = onWake
  }

  wake(partition: number, wakeups: readonly Wakeup[]): void {
    for (const wakeup of wakeups) this.#onWake?.(partition, wakeup)
  }
}
