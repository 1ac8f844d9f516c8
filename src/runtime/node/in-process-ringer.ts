/** Duty: rings the one node of this process, without BullMQ: for the upper bound in the bench, and for tests. */
import type { Bell, BellRinger } from '../../core/ports/ports.ts'
import type { RuntimeNode } from './node.ts'

export class InProcessRinger implements BellRinger {
  #node: RuntimeNode | undefined

  attach(node: RuntimeNode): void {
    this.#node = node
  }

  ring(partition: number, bells: readonly Bell[]): void {
    for (const bell of bells) void this.#node?.answer(partition, bell)
  }
}
