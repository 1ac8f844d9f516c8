/**
 * A client in a process of its own, to be killed: answers the asks of some sessions, each under an idempotency key. Another client answers again,
 * under the same keys, what its death leaves open.
 */
import { connect } from '../../src/client/client.ts'
import { waitUntil } from '../support/time/wait-until.ts'
import type { NodeNews, NodeOrder } from './node/node-order.ts'

const { redisUrl, namespace } = JSON.parse(process.argv[2] ?? '{}') as NodeOrder
process.on('disconnect', () => process.exit(1))
const client = await connect({ redisUrl, namespace })
process.send?.({ ready: 'client' } satisfies NodeNews)
for (let number = 1; number <= 3; number++) {
  const session = await client.sessions.create({ kind: 'asker', input: null, idempotencyKey: `session ${number}` })
  const ask = await waitUntil('an ask is open', async () => (await session.asks())[0])
  await client.asks.answer(ask.id, number, { by: 'a client', idempotencyKey: `answer ${number}` })
}
await client.close()
process.disconnect()
