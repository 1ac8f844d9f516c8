/** Duty: rings the one node of this process, without BullMQ: for the upper bound in the bench, and for tests. */
import type { Waker, Wakeup } from '../../core/ports/ports.ts'
import type { RuntimeNode } from './node.ts'

export class InProcessWaker implements Waker {
  #node: RuntimeNode | undefined

  attach(node: RuntimeNode): void {
    this.#node = node
  }

  wake(partition: number, wakeups: readonly Wakeup[]): void {
    for (const wakeup of wakeups) void this.#node?.answer(partition, wakeup)
  }
}
