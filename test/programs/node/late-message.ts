/**
 * A wake-up is lost at that moment if the end of the turn does not look again. Nobody sends a wake-up for the message.
 */
import { connectInternal } from '../../../src/client/client.ts'
import { RedisTurnStore } from '../../../src/store/turn/turn-store.ts'
import type { NodeOrder } from './node-order.ts'

export async function postBeforeEnds(order: NodeOrder, count: number): Promise<void> {
  const { redisUrl, namespace } = order
  const client = await connectInternal({ redisUrl, namespace, waker: { wake() {} } })
  const sent = new Map<string, number>()
  // oxlint-disable-next-line typescript/unbound-method -- called with its own receiver below
  const commit = RedisTurnStore.prototype.commit
  RedisTurnStore.prototype.commit = async function (this: RedisTurnStore, request) {
    const number = (sent.get(request.workerId) ?? 0) + 1
    if (request.end && number <= count) {
      sent.set(request.workerId, number)
      await client.workers.get(request.workerId).send(number)
    }
    return commit.call(this, request)
  }
}
